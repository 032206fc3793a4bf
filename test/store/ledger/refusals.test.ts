import pg from "pg";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { createPerson } from "../../factories/people.ts";
import { postTask } from "../../factories/tasks.ts";
import { expectBooksToBalance } from "../../setup/books.ts";
import { useService } from "../../setup/testService.ts";

const service = useService();

/** Runs statements as the database's owner, a superuser, in one transaction, and returns the error. */
async function refusalOf(...statements: string[]): Promise<{ code?: string; constraint?: string } | undefined> {
  const client = new pg.Client({ connectionString: service.ownerUrl });
  await client.connect();
  try {
    await client.query("BEGIN");
    for (const statement of statements) await client.query(statement);
    await client.query("COMMIT");
    return undefined;
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw error;
    return { code: error.code, constraint: error.constraint };
  } finally {
    await client.end();
  }
}

let userId: string;
beforeAll(async () => {
  const buyer = await createPerson(service, { cents: 50_000 });
  userId = buyer.id;
  await postTask(buyer, { maxBudgetCents: 10_000 });
});

afterEach(() => expectBooksToBalance(service));

const changes = [
  "UPDATE ledger_entries SET amount_cents = amount_cents + 1",
  "UPDATE ledger_entries SET kind = kind WHERE false",
  "DELETE FROM ledger_entries",
  "TRUNCATE ledger_entries CASCADE",
  "UPDATE ledger_transfers SET external_ref = NULL",
  "DELETE FROM ledger_transfers",
  "TRUNCATE ledger_transfers CASCADE",
  "DELETE FROM wallets",
  "TRUNCATE wallets",
  "INSERT INTO ledger_transfers (external_ref) SELECT external_ref FROM ledger_transfers WHERE external_ref IS NOT NULL ON CONFLICT (external_ref) WHERE external_ref IS NOT NULL DO UPDATE SET fingerprint = ''",
];

describe.each(changes)("%s", (change) => {
  test("is refused to the database's own superuser", async () => {
    expect(await refusalOf(change)).toMatchObject({ code: "23001" });
  });

  test("is refused to a session that applies replicated changes", async () => {
    expect(await refusalOf("SET session_replication_role = replica", change)).toMatchObject({ code: "23001" });
  });
});

describe("a movement that does not sum to zero", () => {
  const transfer = "INSERT INTO ledger_transfers (id) VALUES ('00000000-0000-7000-8000-000000000001')";
  const entry = (cents: number) => `
    INSERT INTO ledger_entries (transfer_id, kind, bucket, amount_cents, created_at)
    VALUES ('00000000-0000-7000-8000-000000000001', 'adjustment', 'outside', ${cents}, clock_timestamp())`;

  test.each([
    ["one side alone", [entry(1)]],
    ["sides that differ", [entry(2), entry(-1)]],
  ])("is refused: %s", async (_, statements) => {
    expect(await refusalOf(transfer, ...statements)).toMatchObject({
      code: "23514",
      constraint: "ledger_entries_balanced",
    });
  });

  test("is refused when it is added to a movement that was balanced", async () => {
    const late = `
      INSERT INTO ledger_entries (transfer_id, kind, bucket, amount_cents, created_at)
      SELECT id, 'adjustment', 'outside', 1, clock_timestamp() FROM ledger_transfers LIMIT 1`;
    expect(await refusalOf(late)).toMatchObject({ constraint: "ledger_entries_balanced" });
  });
});

test.each([
  ["available", "wallets_available_not_negative"],
  ["held", "wallets_held_not_negative"],
  ["debt", "wallets_debt_not_negative"],
])("a negative %s is refused, whoever asks", async (bucket, constraint) => {
  const statement = `UPDATE wallets SET ${bucket}_cents = -1 WHERE user_id = '${userId}'`;
  expect(await refusalOf(statement)).toMatchObject({ code: "23514", constraint });
  expect(await refusalOf("SET session_replication_role = replica", statement)).toMatchObject({ constraint });
});

test("an entry of 0 cents, of an unknown kind or bucket, or with a version that exists is refused", async () => {
  const entry = (values: string) => `
    INSERT INTO ledger_entries (transfer_id, user_id, kind, bucket, amount_cents, balance_after_cents, version, created_at)
    SELECT id, ${values} FROM ledger_transfers LIMIT 1`;
  const user = `'${userId}'`;
  expect(await refusalOf(entry(`${user}, 'topup', 'available', 0, 0, 99, clock_timestamp()`))).toMatchObject({
    constraint: "ledger_entries_amount_not_zero",
  });
  expect(await refusalOf(entry(`${user}, 'gift', 'available', 1, 1, 99, clock_timestamp()`))).toMatchObject({
    constraint: "ledger_entries_kind_known",
  });
  expect(await refusalOf(entry(`${user}, 'topup', 'pocket', 1, 1, 99, clock_timestamp()`))).toMatchObject({
    constraint: "ledger_entries_bucket_known",
  });
  // A session that applies replicated changes brings its own versions; any other gets them from the wallet.
  const replayed = entry(`${user}, 'topup', 'available', 1, 1, 1, clock_timestamp()`);
  expect(await refusalOf("SET session_replication_role = replica", replayed)).toMatchObject({
    constraint: "ledger_entries_version_key",
  });
  expect(await refusalOf(entry(`NULL, 'topup', 'available', 1, 1, 99, clock_timestamp()`))).toMatchObject({
    constraint: "ledger_entries_outside_has_no_user",
  });
});
