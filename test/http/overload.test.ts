import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import getPort from "get-port";
import pg from "pg";
import { afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { createApp } from "../../server/http/app.ts";
import type { OverloadLimits } from "../../server/http/overload.ts";
import { type HttpServer, serve } from "../../server/http/server.ts";
import { openDatabase } from "../../server/store/database.ts";
import { requestPool } from "../../server/store/poolSettings.ts";
import { cookieOf, createPerson, type TestPerson } from "../factories/people.ts";
import { postTask } from "../factories/tasks.ts";
import { type Answer, type Credentials, rest } from "../setup/client.ts";
import { expectError, expectErrorBody } from "../setup/expectError.ts";
import { useService } from "../setup/testService.ts";

// Tests hold a lock for as long as they take, which may be long on a busy machine.
const service = useService({
  pool: { lockTimeoutSeconds: 60, statementTimeoutSeconds: 60, silenceTimeoutSeconds: 90 },
});
let buyer: TestPerson;
let other: TestPerson;
let taskId: string;
let locker: pg.Client;
/** Not `locker`, because a transaction sees the activity of other connections as it was when it first looked. */
let observer: pg.Client;
let stops: (() => Promise<void>)[];

beforeAll(async () => {
  [buyer, other] = await Promise.all([createPerson(service, { cents: 100_000 }), createPerson(service)]);
  taskId = (await postTask(buyer)).id;
});
beforeEach(async () => {
  stops = [];
  locker = new pg.Client({ connectionString: service.databaseUrl });
  observer = new pg.Client({ connectionString: service.databaseUrl });
  await Promise.all([locker.connect(), observer.connect()]);
});
afterEach(async () => {
  await Promise.all([locker.end(), observer.end()]);
  for (const stop of stops.toReversed()) await stop();
});

/** Locks the task, so that every change of it waits, until `locker` ends its transaction. */
async function lockTask(): Promise<void> {
  await locker.query("BEGIN");
  await locker.query("SELECT 1 FROM tasks WHERE id = $1 FOR UPDATE", [taskId]);
}

/** The number of statements that wait for a row. */
async function lockWaits(): Promise<number> {
  const { rows } = await observer.query<{ count: number }>(
    "SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
  );
  return rows[0]?.count ?? 0;
}

/** The same service with other limits, on a port of its own. */
async function serveWith(limits: Partial<OverloadLimits>): Promise<string> {
  const port = await getPort();
  const server: HttpServer = await serve(createApp(service.services, { trustProxy: false }, limits), port, "127.0.0.1");
  stops.push(server.stop);
  return `http://127.0.0.1:${port}`;
}

/** The number of calls that wait for a turn. */
const turnWaits = (url: string) => figure(url, "rebid_calls_waiting");
const callsUnderWay = (url: string) => figure(url, "rebid_calls_underway");

async function figure(url: string, name: string): Promise<number> {
  return Number(new RegExp(`^${name} (-?\\d+)$`, "m").exec((await rest(url, "GET", "/metrics")).text)?.[1]);
}

/** Polls until a figure is reached, for longer than a busy machine needs. */
const reaches = (read: () => Promise<number>, count: number) => expect.poll(read).toBe(count);

const edit = (url = service.url, signal?: AbortSignal) =>
  rest(url, "PATCH", `/tasks/${taskId}`, { body: { description: "Again." }, credentials: buyer.session, signal });
const edits = (count: number, url?: string) => Array.from({ length: count }, () => edit(url));
const statusesOf = async (answers: Promise<Answer>[]) => (await Promise.all(answers)).map(({ status }) => status);

/** A batch of typed RPC calls that each edit the task. */
async function editInBatch(calls: number, comma = ",", mount = "trpc"): Promise<number> {
  const paths = Array(calls).fill("tasks.update").join(comma);
  const input = { id: taskId, description: "Again." };
  const response = await fetch(`${service.url}/${mount}/${paths}?batch=1`, {
    method: "POST",
    headers: { "content-type": "application/json", ...buyer.session },
    body: JSON.stringify(Object.fromEntries(Array.from({ length: calls }, (_, index) => [index, input]))),
  });
  return ((await response.json()) as { result?: unknown }[]).filter(({ result }) => result !== undefined).length;
}

test("300 parallel edits of one task hold 2 connections, everyone else goes on, and each edit succeeds", async () => {
  await lockTask();
  const waiting = edits(300);
  await reaches(lockWaits, 2);
  for (let count = 0; count < 4; count++) {
    expect((await other.get("/wallet")).status).toBe(200);
    expect((await other.get("/tasks")).status).toBe(200);
  }
  expect(await lockWaits()).toBe(2);
  expect(service.services.database.pool.waitingCount).toBe(0);
  await locker.query("COMMIT");
  expect(new Set(await statusesOf(waiting))).toEqual(new Set([200]));
});

test("a caller's reads do not wait for their changes", async () => {
  await lockTask();
  const waiting = edits(4);
  await reaches(() => turnWaits(service.url), 2);
  expect((await buyer.get("/wallet")).status).toBe(200);
  expect((await buyer.get(`/tasks/${taskId}`)).status).toBe(200);
  await locker.query("COMMIT");
  expect(await statusesOf(waiting)).toEqual([200, 200, 200, 200]);
});

test("a caller has four lone reads under way, and of a batch two", async () => {
  await locker.query("BEGIN; LOCK TABLE wallets IN ACCESS EXCLUSIVE MODE");
  const lone: Promise<Answer>[] = [];
  for (let count = 0; count < 6; count++) {
    lone.push(buyer.get("/wallet"));
    if (count < 4) await reaches(lockWaits, count + 1);
    else await reaches(() => turnWaits(service.url), count - 3);
    await sleep(100); // By now its connection counts as slow, so that the next session is not looked up behind it.
  }
  const paths = Array(6).fill("wallet.read").join(",");
  const batch = fetch(`${service.url}/trpc/${paths}?batch=1&input=%7B%7D`, { headers: other.session });
  await reaches(() => turnWaits(service.url), 2 + 4);
  await locker.query("COMMIT");
  expect(await statusesOf(lone)).toEqual(Array(6).fill(200));
  expect((await batch).status).toBe(200);
});

test("the calls of a batch take their turns one by one", async () => {
  await lockTask();
  const batches = [editInBatch(20), editInBatch(20, "%2C"), editInBatch(20, ",", "TRPC")];
  await reaches(lockWaits, 2);
  await reaches(() => turnWaits(service.url), 60 - 2);
  // Those that wait are not under way, and no fewer: a batch counts as its calls, however its address is written.
  expect(await callsUnderWay(service.url)).toBe(2);
  expect((await other.get("/wallet")).status).toBe(200);
  expect(await lockWaits()).toBe(2);
  await locker.query("COMMIT");
  expect(await Promise.all(batches)).toEqual([20, 20, 20]);
});

test("beyond the calls that may wait, and after the time that they may, the response is 503 with Retry-After", async () => {
  const url = await serveWith({ turnsPerCaller: 2, maxWaitingPerCaller: 3, maxWaitingMs: 300 });
  await lockTask();
  const answers = edits(7, url);
  const refused = await Promise.race(answers);
  expectError(refused, "unavailable");
  expect(refused.headers.get("retry-after")).toBe("2");
  await reaches(() => turnWaits(url), 0); // three have given up, and two still wait for the row
  await locker.query("COMMIT");
  expect((await statusesOf(answers)).sort()).toEqual([200, 200, 503, 503, 503, 503, 503]);
  expect((await edit(url)).status).toBe(200);
});

test("a client that disconnects while it waits gives up its place, and its call is never made", async () => {
  const url = await serveWith({ turnsPerCaller: 1, maxWaitingPerCaller: 2 });
  await lockTask();
  const first = edit(url);
  await reaches(lockWaits, 1);
  const gone = new AbortController();
  const lost = [1, 2].map(() =>
    rest(url, "POST", `/tasks/${taskId}/cancel`, { credentials: buyer.session, signal: gone.signal }),
  );
  await reaches(() => turnWaits(url), 2);
  expect((await edit(url)).status).toBe(503);
  gone.abort();
  await Promise.allSettled(lost);
  await reaches(() => turnWaits(url), 0);
  const others = edits(2, url);
  await reaches(() => turnWaits(url), 2);
  await locker.query("COMMIT");
  expect(await statusesOf([first, ...others])).toEqual([200, 200, 200]);
  expect((await buyer.get(`/tasks/${taskId}`)).body.task.status).toBe("open");
});

test("so does one that waits for a shared answer, and that is no failure", async () => {
  const errors = service.errors.length;
  const url = await serveWith({ readTurnsPerCaller: 1 });
  await locker.query("BEGIN; LOCK TABLE wallets IN ACCESS EXCLUSIVE MODE");
  const holding = rest(url, "GET", "/wallet", { credentials: buyer.session });
  await reaches(lockWaits, 1);
  await sleep(100); // By now its connection counts as slow, so that the next session is not looked up behind it.
  const leaving = new AbortController();
  const left = rest(url, "GET", "/tasks", { credentials: buyer.session, signal: leaving.signal });
  await reaches(() => turnWaits(url), 1);
  leaving.abort();
  await expect(left).rejects.toThrow("aborted");
  await reaches(() => turnWaits(url), 0);
  await locker.query("COMMIT");
  expect((await holding).status).toBe(200);
  expect(service.errors.length).toBe(errors);
});

test("beyond the calls that may be under way, everything but the probes is 503 at once, before authentication", async () => {
  const url = await serveWith({ maxCallsUnderWay: 4, turnsPerCaller: 4 });
  await lockTask();
  const accepted = edits(4, url);
  await reaches(lockWaits, 4);
  const refused = [
    await rest(url, "GET", "/tasks"),
    await rest(url, "GET", "/wallet", { credentials: other.key }),
    await rest(url, "POST", "/auth/login", { body: { email: "a@example.com", password: "correct horse" } }),
    await rest(url, "GET", "/openapi.json"),
  ];
  for (const answer of refused) {
    expectError(answer, "unavailable");
    expect(answer.headers.get("retry-after")).toBe("2");
  }
  const rpc = await fetch(`${url}/trpc/tasks.list`);
  const body = (await rpc.json()) as { error: { data: Record<string, unknown> } };
  expectErrorBody(body.error.data, "unavailable");
  expect([rpc.status, rpc.headers.get("retry-after")]).toEqual([503, "2"]);
  for (const path of ["/livez", "/readyz", "/metrics"]) expect((await rest(url, "GET", path)).status).toBe(200);
  await locker.query("COMMIT");
  expect(await statusesOf(accepted)).toEqual([200, 200, 200, 200]);
  expect((await rest(url, "GET", "/tasks")).status).toBe(200);
});

test("calls that wait for a turn and requests whose body is still arriving leave room for others", async () => {
  const url = await serveWith({ maxCallsUnderWay: 3, turnsPerCaller: 1 });
  const { hostname, port } = new URL(url);
  const sockets = [1, 2, 3].map(() => connect(Number(port), hostname));
  for (const socket of sockets) {
    socket.write(
      "POST /auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
    );
  }
  await lockTask();
  // One call waits for the row, the others for that call; the unfinished bodies count for a second.
  await reaches(async () => (await rest(url, "GET", "/tasks")).status, 200);
  const waiting: Promise<Answer>[] = [];
  for (let count = 0; count < 10; count++) {
    waiting.push(edit(url));
    await reaches(async () => (await rest(url, "GET", "/tasks")).status, 200);
  }
  await locker.query("COMMIT");
  expect(new Set(await statusesOf(waiting))).toEqual(new Set([200]));
  for (const socket of sockets) socket.destroy();
});

test("hundreds of idle connections and bodies that arrive byte by byte keep nobody else from being answered", async () => {
  const url = await serveWith({ maxCallsUnderWay: 20 });
  const { hostname, port } = new URL(url);
  const open = () => connect(Number(port), hostname).on("error", () => {});
  const idle = Array.from({ length: 300 }, open);
  const slow = Array.from({ length: 60 }, open);
  const cookie = Object.entries(other.session).map(([name, value]) => `${name}: ${value}\r\n`);
  for (const [index, socket] of slow.entries()) {
    const path = index % 2 === 0 ? "/auth/login" : "/tasks";
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: x\r\n${cookie.join("")}Content-Type: application/json\r\nContent-Length: 4000\r\n\r\n{`,
    );
  }
  const drip = setInterval(() => {
    for (const socket of slow) socket.write(" ");
  }, 20);
  stops.push(async () => {
    clearInterval(drip);
    for (const socket of [...idle, ...slow]) socket.destroy();
  });
  await reaches(async () => (await rest(url, "GET", "/tasks")).status, 200);
  const statuses = [buyer, other, null, null, null].map(async (person) => {
    const seen: number[] = [];
    for (let request = 0; request < 20; request++) {
      const answer = await rest(url, "GET", person ? "/wallet" : "/tasks", { credentials: person?.session ?? {} });
      seen.push(answer.status);
    }
    return seen;
  });
  expect((await Promise.all(statuses)).flat()).toEqual(Array(100).fill(200));
  expect(slow.filter(({ closed }) => closed)).toEqual([]); // the bodies were arriving all the time
});

test("60 connections that keep asking are all answered, most with 503, and none is lost", async () => {
  const url = await serveWith({ maxCallsUnderWay: 5 });
  const counts: Record<number, number> = {};
  await Promise.all(
    Array.from({ length: 60 }, async (_, index) => {
      const credentials = index % 2 === 0 ? {} : other.session;
      for (let request = 0; request < 10; request++) {
        const { status } = await rest(url, "GET", index % 2 === 0 ? "/tasks" : "/wallet", { credentials });
        counts[status] = (counts[status] ?? 0) + 1;
      }
    }),
  );
  expect(Object.keys(counts)).toEqual(["200", "503"]);
  expect((counts[200] ?? 0) + (counts[503] ?? 0)).toBe(600);
  expect((await rest(url, "GET", "/tasks")).status).toBe(200);
});

test.each([
  ["waits too long for a lock", { lockTimeoutSeconds: 0.1 }, "55P03"],
  ["runs too long", { statementTimeoutSeconds: 0.3 }, "57014"],
])("a statement that %s is 503 with Retry-After", async (_name, limit, code) => {
  const database = openDatabase(service.databaseUrl, { ...requestPool, ...limit });
  stops.push(database.close);
  const port = await getPort();
  const server = await serve(createApp({ ...service.services, database }, { trustProxy: false }), port, "127.0.0.1");
  stops.push(server.stop);
  await lockTask();
  const answer = await edit(`http://127.0.0.1:${port}`);
  expectError(answer, "unavailable");
  expect(answer.headers.get("retry-after")).toBe("2");
  expect(service.errors.splice(0).map((line) => JSON.parse(line).error.code)).toEqual([code]);
});

test("a call that waits for its turn is 401 as soon as its session or key has ended, and the others go on waiting", async () => {
  const url = await serveWith({ turnsPerCaller: 1, maxWaitingMs: 120_000 });
  const person = await createPerson(service, { cents: 10_000 });
  const { email, password } = person;
  const logIn = async () => cookieOf(await rest(url, "POST", "/auth/login", { body: { email, password } }));
  const [ended, expired, lasting] = [await logIn(), await logIn(), await logIn()];
  const { sessions } = (await rest(url, "GET", "/auth/sessions", { credentials: ended })).body;
  const endedId = sessions.find(({ current }: { current: boolean }) => current).id;
  const id = (await postTask(person)).id;
  const change = (credentials: Credentials) =>
    rest(url, "PATCH", `/tasks/${id}`, { body: { description: "Again." }, credentials });
  await locker.query("BEGIN");
  await locker.query("SELECT 1 FROM tasks WHERE id = $1 FOR UPDATE", [id]);
  const first = change(lasting);
  await reaches(lockWaits, 1);
  const waiting = [change(ended), change(expired), change(person.key), change(lasting)];
  await reaches(() => turnWaits(url), 4);

  await observer.query("DELETE FROM sessions WHERE id = $1", [endedId]);
  expectError((await waiting[0]) as Answer, "unauthenticated");
  await observer.query("UPDATE api_keys SET revoked_at = now() WHERE user_id = $1", [person.id]);
  expectError((await waiting[2]) as Answer, "unauthenticated");
  expect(await turnWaits(url)).toBe(2);
  await observer.query(
    `UPDATE sessions SET expires_at = now() - interval '1 hour'
     WHERE id = (SELECT id FROM sessions WHERE user_id = $1 ORDER BY created_at OFFSET 1 LIMIT 1)`,
    [person.id],
  );
  expectError((await waiting[1]) as Answer, "unauthenticated");
  expect(await turnWaits(url)).toBe(1);
  await locker.query("COMMIT");
  expect(await statusesOf([first, waiting[3] as Promise<Answer>])).toEqual([200, 200]);
});
