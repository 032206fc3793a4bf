import { expect, test } from "vitest";
import { type Sql, sql } from "../../../server/store/connection.ts";
import { createPerson, fund } from "../../factories/people.ts";
import { awardedTask, deliveredTask } from "../../factories/tasks.ts";
import { useService } from "../../setup/testService.ts";

const service = useService();

function commit(...statements: Sql[]): Promise<unknown> {
  return service.owner.transaction(async (tx) => {
    for (const statement of statements) await tx.query(statement);
  });
}

const refusal = { code: "23514", constraint: "wallets_equal_entries" };

test("a balance that does not match the entries is refused at commit, whoever writes it", async () => {
  const { id } = await createPerson(service, { cents: 1_000 });
  const stranger = await createPerson(service);
  const replica = sql`SET LOCAL session_replication_role = replica`;
  for (const change of [
    sql`UPDATE wallets SET available_cents = available_cents + 1 WHERE user_id = ${id}::uuid`,
    sql`UPDATE wallets SET available_cents = 0, held_cents = 1000 WHERE user_id = ${id}::uuid`,
    sql`UPDATE wallets SET debt_cents = 5 WHERE user_id = ${id}::uuid`,
    sql`UPDATE wallets SET version = version + 1 WHERE user_id = ${id}::uuid`,
    sql`UPDATE wallets SET version = version - 1 WHERE user_id = ${id}::uuid`,
    sql`UPDATE wallets SET last_entry_at = last_entry_at + interval '1 second' WHERE user_id = ${id}::uuid`,
    sql`UPDATE wallets SET user_id = ${stranger.id}::uuid WHERE user_id = ${id}::uuid`,
    sql`INSERT INTO wallets (user_id, available_cents) VALUES (${stranger.id}::uuid, 1)`,
  ]) {
    await expect(commit(change)).rejects.toMatchObject(refusal);
    await expect(commit(replica, change)).rejects.toMatchObject(refusal);
  }
});

test("an entry changes its wallet and gets its id, balance, version and time from the database, whatever the statement says", async () => {
  const { id } = await createPerson(service, { cents: 1_000 });
  const { database } = service.services;
  const rolledBack = new Error("rolled back");
  const work = database.transaction(async (tx) => {
    // With the id of an existing entry: a conflict must not skip the entry after the wallet has changed.
    await tx.query(sql`
      WITH transfer AS (INSERT INTO ledger_transfers DEFAULT VALUES RETURNING id)
      INSERT INTO ledger_entries (id, transfer_id, user_id, kind, bucket, amount_cents, balance_after_cents, version, created_at)
      SELECT earlier.id, transfer.id, earlier.user_id, 'adjustment', side.bucket, side.cents, 7, 1, earlier.created_at
      FROM transfer, ledger_entries earlier, (VALUES ('available', -400), ('held', 400)) side (bucket, cents)
      WHERE earlier.user_id = ${id}::uuid
      ON CONFLICT DO NOTHING`);
    expect(
      await tx.query(sql`
        SELECT bucket, balance_after_cents AS "balanceAfterCents", version, created_at > now() AS "isNow"
        FROM ledger_entries WHERE user_id = ${id}::uuid ORDER BY version`),
    ).toEqual([
      { bucket: "available", balanceAfterCents: 1_000, version: 1, isNow: false },
      { bucket: "available", balanceAfterCents: 600, version: 2, isNow: true },
      { bucket: "held", balanceAfterCents: 400, version: 3, isNow: true },
    ]);
    expect(await tx.query(sql`SELECT held_cents AS held, version FROM wallets WHERE user_id = ${id}::uuid`)).toEqual([
      { held: 400, version: 3 },
    ]);
    throw rolledBack;
  });
  await expect(work).rejects.toBe(rolledBack);
});

test("every movement of the ledger matches its entries", async () => {
  const buyer = await createPerson(service, { cents: 50_000 });
  const bidder = await createPerson(service);
  const { database } = service.services;
  const clawBack = (userId: string, cents: number, reference: string) =>
    database.transaction((tx) => tx.ledger.clawBack(userId, "chargeback", cents, reference));
  // A release pays part of a debt; the payment of a task and a credit pay the rest.
  const { task } = await deliveredTask(buyer, bidder, { maxBudgetCents: 10_000, priceCents: 9_000 });
  await clawBack(bidder.id, 4_000, "dispute:bidder");
  expect((await buyer.post(`/tasks/${task.id}/accept`)).status).toBe(200);
  await awardedTask(buyer, bidder, { maxBudgetCents: 30_000, priceCents: 100 });
  await clawBack(buyer.id, 60_000, "dispute:buyer");
  await fund(service, buyer.id, 1_000);
  await database.transaction((tx) => tx.ledger.withdraw(bidder.id, 5_000, "payout:1"));

  expect((await bidder.get("/wallet")).body).toEqual({ availableCents: 0, heldCents: 0 });
  expect((await buyer.get("/wallet")).body).toEqual({ availableCents: 0, heldCents: 100 });
});
