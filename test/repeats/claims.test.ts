import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { ApiError } from "../../server/errors.ts";
import { ProcessorUnavailable } from "../../server/gateways/processorErrors.ts";
import { createApp } from "../../server/http/app.ts";
import { openChanges } from "../../server/repeats/changes.ts";
import { sql } from "../../server/store/connection.ts";
import { openDatabase } from "../../server/store/database.ts";
import { requestPool } from "../../server/store/poolSettings.ts";
import { createPayee } from "../factories/payouts.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { awardedTask, placeBid, postTask, taskInput, upload } from "../factories/tasks.ts";
import { expectBooksToBalance } from "../setup/books.ts";
import { type Answer, rest } from "../setup/client.ts";
import { expectError } from "../setup/expectError.ts";
import { control, eventually } from "../setup/processorControl.ts";
import { useService } from "../setup/testService.ts";

const service = useService({ pool: { poolSize: 6 } });
/** Another server on the same database. What is known of keys is in the database only, so it stands for another process. */
const second = { url: "", close: async () => {} };
beforeAll(async () => {
  const database = openDatabase(service.databaseUrl, { ...requestPool, poolSize: 6 });
  const server = createServer(createApp({ ...service.services, database }, { trustProxy: false }));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  second.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  second.close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await database.close();
  };
});
afterAll(() => second.close());

let count = 0;
const newKey = () => `key-${++count}`;
const send = (by: TestPerson, path: string, body: unknown, key: string, url = service.url) =>
  rest(url, "POST", path, { body, credentials: by.session, headers: { "idempotency-key": key } });

interface KeyRow {
  claimId: string | null;
  isAnswered: boolean;
}
async function keyRow(by: TestPerson, key: string): Promise<KeyRow | undefined> {
  const [row] = await service.services.database.query<KeyRow>(sql`
    SELECT claim_id AS "claimId", answer IS NOT NULL AS "isAnswered" FROM idempotency_keys
    WHERE user_id = ${by.id}::uuid AND key = ${key}`);
  return row;
}

/** As if the process had died before it could keep its answer. Its lease ends in `leaseSeconds`, or has ended. */
const forgetAnswer = (by: TestPerson, key: string, leaseSeconds: number) =>
  service.services.database.query(sql`
    UPDATE idempotency_keys SET answer = NULL, owner = gen_random_uuid(),
      lease_until = clock_timestamp() + make_interval(secs => ${leaseSeconds})
    WHERE user_id = ${by.id}::uuid AND key = ${key}`);

const topupsOf = (by: TestPerson) =>
  service.services.database.query<{ id: string; sessionId: string | null; status: string }>(
    sql`SELECT id, session_id AS "sessionId", status FROM topups WHERE user_id = ${by.id}::uuid`,
  );

describe("a top-up", () => {
  test("whose process died after the processor's response is resumed, and gets the same page", async () => {
    const person = await createPerson(service);
    const key = newKey();
    const first = await send(person, "/wallet/topup", { amountCents: 5_000 }, key);
    await forgetAnswer(person, key, -1);
    const again = await send(person, "/wallet/topup", { amountCents: 5_000 }, key);
    expect([again.status, again.body]).toEqual([200, first.body]);
    const kept = await send(person, "/wallet/topup", { amountCents: 5_000 }, key);
    expect([kept.body, kept.headers.get("idempotent-replayed")]).toEqual([first.body, "true"]);
    const [topup, ...others] = await topupsOf(person);
    expect([topup?.sessionId, others]).toEqual([first.body.sessionId, []]);
    expect((await keyRow(person, key))?.claimId).toBe(topup?.id);
  });

  test.each([
    ["server_error", "was not executed"],
    ["server_error_after", "was executed, but whose response was lost"],
  ])("that met the processor's %s, because its call %s, is resumed at once with the same row", async (name) => {
    const person = await createPerson(service);
    const key = newKey();
    await control(service, "POST", "faults", { name, next: 1, call: "POST /v1/checkout/sessions" });
    expectError(await send(person, "/wallet/topup", { amountCents: 5_000 }, key), "processor_unavailable");
    service.errors.length = 0;
    const [topup, ...none] = await topupsOf(person);
    expect([topup?.id, none]).toEqual([(await keyRow(person, key))?.claimId, []]);
    const again = await send(person, "/wallet/topup", { amountCents: 5_000 }, key);
    expect([again.status, (await topupsOf(person)).map(({ sessionId }) => sessionId)]).toEqual([
      200,
      [again.body.sessionId],
    ]);
    // Two pages would be two sessions at the processor.
    const { sessions } = await sessionsOf(person.id);
    expect(sessions).toBe(1);
  });

  test("whose page was paid meanwhile still gets the same answer, and is credited once", async () => {
    const person = await createPerson(service);
    const key = newKey();
    const first = await send(person, "/wallet/topup", { amountCents: 5_000 }, key);
    await control(service, "POST", `checkout/${first.body.sessionId}/pay`, { outcome: "pays" });
    const again = await send(person, "/wallet/topup", { amountCents: 5_000 }, key);
    expect(again.body).toEqual(first.body);
    await forgetAnswer(person, key, -1);
    expect((await send(person, "/wallet/topup", { amountCents: 5_000 }, key)).body).toEqual(first.body);
  });
});

/** The processor's checkout sessions for a user. */
async function sessionsOf(userId: string): Promise<{ sessions: number }> {
  let sessions = 0;
  const response = await fetch(`${service.processorUrl}/v1/checkout/sessions?limit=100`, {
    headers: { authorization: "Bearer sk_test_tests" },
  });
  const { data } = (await response.json()) as { data: { metadata: { userId?: string } }[] };
  for (const { metadata } of data) if (metadata.userId === userId) sessions++;
  return { sessions };
}

test("a repeat waits for a claim under way without holding a connection, then gets its answer", async () => {
  const person = await createPerson(service);
  const key = newKey();
  const first = await send(person, "/wallet/topup", { amountCents: 5_000 }, key);
  await forgetAnswer(person, key, 600);
  let done = 0;
  const repeats = Array.from({ length: 30 }, async () => {
    const answer = await send(person, "/wallet/topup", { amountCents: 5_000 }, key);
    done++;
    return answer;
  });
  // Five times as many as there are connections wait, and everyone's other requests go on, the same caller's as well.
  const other = await createPerson(service);
  for (let read = 0; read < 20; read++) {
    expect([(await other.get("/wallet")).status, (await person.get("/wallet")).status]).toEqual([200, 200]);
  }
  await eventually(
    async () => service.services.database.pool,
    (pool) => pool.idleCount === pool.totalCount && pool.waitingCount === 0,
  );
  expect(done).toBe(0);
  expect(await topupsOf(person)).toHaveLength(1);
  await forgetAnswer(person, key, -1);
  const answers = await Promise.all(repeats);
  expect(new Set(answers.map(({ text }) => text))).toEqual(new Set([first.text]));
  expect(await topupsOf(person)).toHaveLength(1);
});

/** Holds a row's lock, so that a request which needs it stops in the middle of its change. */
async function lockRow(table: "wallets" | "tasks", id: string): Promise<{ unlock(): Promise<void> }> {
  const client = await service.services.database.pool.connect();
  await client.query("BEGIN");
  await client.query(`SELECT 1 FROM ${table} WHERE ${table === "wallets" ? "user_id" : "id"} = $1 FOR UPDATE`, [id]);
  return {
    async unlock() {
      await client.query("ROLLBACK");
      client.release();
    },
  };
}

/** Stops a request in the middle of its change, gives its claim to another process, and lets it go on. */
async function takeOver(by: TestPerson, key: string, lock: { unlock(): Promise<void> }): Promise<void> {
  const { database } = service.services;
  const waits = () =>
    database.query(sql`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`);
  await eventually(waits, (rows) => rows.length > 0);
  await forgetAnswer(by, key, 600);
  await lock.unlock();
  await eventually(waits, (rows) => rows.length === 0);
}

test("a repeat that waits for a claim is 401 as soon as its session has ended", async () => {
  const person = await createPerson(service);
  const [key, input] = [newKey(), { amountCents: 1_000 }];
  await send(person, "/wallet/topup", input, key);
  await forgetAnswer(person, key, 300);
  const watch = vi.spyOn(service.services.callerWatch, "watch");
  onTestFinished(() => watch.mockRestore());
  const repeat = send(person, "/wallet/topup", input, key);
  await expect.poll(() => watch).toHaveBeenCalled(); // it has begun to wait
  await person.post("/auth/logout");
  expectError(await repeat, "unauthenticated");
});

describe("a claim that another process has taken over cannot answer any more, and what it changed is undone", () => {
  test("a payout", async () => {
    const payee = await createPayee(service);
    const key = newKey();
    const lock = await lockRow("wallets", payee.id);
    const late = send(payee, "/payouts", { amountCents: 2_000 }, key);
    await takeOver(payee, key, lock);
    expect((await payee.get("/payouts")).body.payouts).toEqual([]);
    // The other process has died, too: the first request takes its claim back.
    await forgetAnswer(payee, key, -1);
    const answer = await late;
    const again = await send(payee, "/payouts", { amountCents: 2_000 }, key);
    expect([answer.status, again.body]).toEqual([202, answer.body]);
    expect((await payee.get("/payouts")).body.payouts).toHaveLength(1);
    await expectBooksToBalance(service);
  });

  test("a delivery", async () => {
    const buyer = await createPerson(service, { cents: 50_000 });
    const bidder = await createPerson(service);
    const { bid } = await awardedTask(buyer, bidder);
    const storageKey = await upload(bidder, bid.id, "delivery", "the work");
    const path = `/bids/${bid.id}/delivery/finalize`;
    const key = newKey();
    const lock = await lockRow("tasks", bid.taskId);
    const late = send(bidder, path, { storageKey }, key);
    await takeOver(bidder, key, lock);
    expect((await buyer.get(`/tasks/${bid.taskId}`)).body.task.status).toBe("awarded");
    await forgetAnswer(bidder, key, -1);
    expect((await late).status).toBe(201);
    const { deliveries } = (await buyer.get(`/tasks/${bid.taskId}`)).body;
    expect(deliveries.map(({ id }: { id: string }) => id)).toEqual([(await late).body.delivery.id]);
    expect(await (await fetch(deliveries[0].downloadUrl)).text()).toBe("the work");
  });
});

test.each([
  ["refused", new ApiError("insufficient_funds")],
  ["unable to tell", new ProcessorUnavailable("no response")],
])(
  "a request that was slow and is then %s gets the answer of the one that took its claim over",
  async (_how, error) => {
    const { id: userId } = await createPerson(service);
    const key = newKey();
    const { database, log } = service.services;
    let replayed = 0;
    const open = () =>
      openChanges({
        isDryRun: false,
        ...{ database, log, userId, keyId: null, idempotencyKey: key, operation: "payouts.create", showsSecret: false },
        readInput: async () => ({ amountCents: 2_000 }),
        hasLeft: () => false,
        pause: async () => {},
        markReplayed: () => void replayed++,
        askOwner: () => Promise.reject(new Error("nobody asks")),
        awaitDecision: () => Promise.reject(new Error("nobody asks")),
      });
    const slow = open();
    const answer = await slow.claim(async () => {
      await database.query(sql`UPDATE idempotency_keys SET lease_until = clock_timestamp() WHERE key = ${key}`);
      const other = open();
      await other.claim(({ change }) => change(async () => "paid"));
      throw error;
    });
    expect([answer, replayed]).toEqual(["paid", 1]);
  },
);

// test/start/roles.test.ts repeats the same between real processes.
describe("two servers on one database at once", () => {
  /** 40 repeats, in turn to the two servers. */
  async function race(by: TestPerson, path: string, body: unknown): Promise<Answer[]> {
    const key = newKey();
    return Promise.all(
      Array.from({ length: 40 }, (_, index) => send(by, path, body, key, index % 2 === 0 ? service.url : second.url)),
    );
  }
  const expectOneAnswer = (answers: Answer[], status: number) => {
    expect(answers.map((answer) => answer.status)).toEqual(Array(40).fill(status));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers.filter(({ headers }) => headers.get("idempotent-replayed") === null)).toHaveLength(1);
  };

  test("post one task, place one bid, award once", async () => {
    const buyer = await createPerson(service, { cents: 100_000 });
    const bidder = await createPerson(service);
    const posted = await race(buyer, "/tasks", taskInput());
    expectOneAnswer(posted, 201);
    const taskId: string = posted[0]?.body.task.id;
    const placed = await race(bidder, `/tasks/${taskId}/bids`, { priceCents: 5_000, etaHours: 1 });
    expectOneAnswer(placed, 201);
    expectOneAnswer(await race(buyer, `/tasks/${taskId}/award`, { bidId: placed[0]?.body.bid.id }), 200);
    expect((await buyer.get("/wallet")).body).toEqual({ availableCents: 95_000, heldCents: 5_000 });
    await expectBooksToBalance(service);
  });

  test("open one checkout page and pay out once", async () => {
    const payee = await createPayee(service);
    expectOneAnswer(await race(payee, "/wallet/topup", { amountCents: 5_000 }), 200);
    expect(await topupsOf(payee)).toHaveLength(1);
    expect((await sessionsOf(payee.id)).sessions).toBe(1);
    expectOneAnswer(await race(payee, "/payouts", { amountCents: 2_000 }), 202);
    expect((await payee.get("/payouts")).body.payouts).toHaveLength(1);
    await expectBooksToBalance(service);
  });

  test("with one key for two different requests, one of them is a conflict", async () => {
    const buyer = await createPerson(service, { cents: 100_000 });
    const task = await postTask(buyer);
    await placeBid(await createPerson(service), task.id);
    const key = newKey();
    const answers = await Promise.all([
      send(buyer, "/tasks", taskInput(), key),
      send(buyer, `/tasks/${task.id}/cancel`, undefined, key, second.url),
    ]);
    expect(answers.filter(({ status }) => status < 300)).toHaveLength(1);
    expect(answers.filter(({ body }) => body.error === "idempotency_conflict")).toHaveLength(1);
    await expectBooksToBalance(service);
  });
});
