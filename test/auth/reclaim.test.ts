import { expect, test, vi } from "vitest";
import { createToken } from "../../server/auth/accountTokens.ts";
import { sql } from "../../server/store/connection.ts";
import { makeModerator } from "../factories/moderators.ts";
import { accountOf, createPayee } from "../factories/payouts.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { setUpTotp, signIn } from "../factories/secondFactors.ts";
import { rest } from "../setup/client.ts";
import { expectError } from "../setup/expectError.ts";
import { useService } from "../setup/testService.ts";

// Whoever signs up with somebody else's address may wait until its owner takes the account over with a mailed link.
const service = useService({
  resolve: async (name) => (name === "hooks.example.com" ? ["93.184.215.14"] : Promise.reject(new Error("no name"))),
});
const webhook = { url: "https://hooks.example.com/", events: ["task.created"] };
const newPassword = "an entirely new password";

/** Sets a new password with a link. */
async function reset({ id }: TestPerson, { mailed = true } = {}): Promise<void> {
  const { database, clock } = service.services;
  const mailId = crypto.randomUUID();
  const token = await createToken(database, {
    ...{ id: mailId, userId: id, now: clock.now() },
    purpose: "reset_password",
  });
  if (mailed) await database.query(sql`UPDATE account_tokens SET sent_at = now() WHERE id = ${mailId}::uuid`);
  const answer = await rest(service.url, "POST", "/auth/password/reset", { body: { token, newPassword } });
  expect(answer.status).toBe(204);
}

const logIn = (person: TestPerson) => signIn(service, { ...person, password: newPassword });

async function setUpEverything(person: TestPerson) {
  expect((await person.post("/webhooks", webhook)).status).toBe(201);
  return setUpTotp(service, person);
}

test("a reset removes what was set up before the address was verified, and lets its owner in", async () => {
  const person = await createPayee(service);
  await setUpEverything(person);
  const theirs = await accountOf(service, person.id);
  await reset(person);
  const { answer, session } = await logIn(person);
  expect(answer.status).toBe(200);
  const as = (method: "GET" | "POST", path: string, body?: object) =>
    rest(service.url, method, path, { credentials: session, body });
  expect((await as("GET", "/webhooks")).body.webhooks).toEqual([]);
  expectError(await rest(service.url, "GET", "/auth/me", { credentials: person.key }), "unauthenticated");
  // The money goes where the owner says, not to the account of whoever came first.
  expectError(await as("POST", "/payouts", { amountCents: 1_000 }), "onboarding_required");
  expect((await as("POST", "/payouts/onboarding")).status).toBe(200);
  expect(await accountOf(service, person.id)).not.toBe(theirs);
});

test("of what was set up after the address was verified only keys go, and a moderator's second factor stays anyway", async () => {
  const person = await createPayee(service);
  await service.services.database.query(sql`
    UPDATE users SET email_verified_at = created_at WHERE id = ${person.id}::uuid`);
  const { recoveryCodes } = await setUpEverything(person);
  await reset(person);
  expectError((await logIn(person)).answer, "second_factor_required");
  const { session } = await signIn(service, { ...person, password: newPassword }, recoveryCodes[0]);
  expect((await rest(service.url, "GET", "/webhooks", { credentials: session })).body.webhooks).toHaveLength(1);
  expectError(await rest(service.url, "GET", "/auth/me", { credentials: person.key }), "unauthenticated");
  expect(await accountOf(service, person.id)).toBe(person.accountId);

  const moderator = await createPerson(service);
  await makeModerator(service, moderator);
  await setUpTotp(service, moderator);
  await reset(moderator);
  expectError((await logIn(moderator)).answer, "second_factor_required");
});

test("an operator's link, which proves no mailbox, leaves the second factor", async () => {
  const person = await createPerson(service);
  await setUpTotp(service, person);
  await reset(person, { mailed: false });
  expectError((await logIn(person)).answer, "second_factor_required");
});

test.for([
  ["POST /keys", "/keys", { label: "late", scopes: [] }],
  ["POST /webhooks", "/webhooks", webhook],
  ["POST /payouts/onboarding", "/payouts/onboarding", undefined],
] as const)("%s that was under way when its session ended adds nothing", async ([, path, body]) => {
  const person = await createPerson(service);
  const client = await service.owner.pool.connect();
  try {
    await client.query("BEGIN");
    await client.query("SELECT 1 FROM users WHERE id = $1 FOR NO KEY UPDATE", [person.id]);
    const answer = person.post(path, body);
    await vi.waitFor(
      async () => {
        const { rows } = await service.owner.pool.query(
          "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
        );
        expect(rows).not.toEqual([]);
      },
      { timeout: 60_000, interval: 20 },
    );
    await client.query("DELETE FROM sessions WHERE user_id = $1", [person.id]);
    await client.query("COMMIT");
    expectError(await answer, "unauthenticated");
  } finally {
    client.release();
  }
  const { rows } = await service.owner.pool.query(
    `SELECT (SELECT count(*)::int FROM api_keys WHERE user_id = $1) AS keys,
            (SELECT count(*)::int FROM webhook_endpoints WHERE user_id = $1) AS webhooks,
            (SELECT count(*)::int FROM payout_accounts WHERE user_id = $1) AS accounts`,
    [person.id],
  );
  expect(rows).toEqual([{ keys: 1, webhooks: 0, accounts: 0 }]); // the key is the factory's
});
