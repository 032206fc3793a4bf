import getPort from "get-port";
import { beforeAll, expect, test } from "vitest";
import type { ErrorCode } from "../../server/errors.ts";
import { createApp } from "../../server/http/app.ts";
import type { Route } from "../../server/http/routes.ts";
import { serve } from "../../server/http/server.ts";
import { openLimiter } from "../../server/limits/limiter.ts";
import { defaultLimits } from "../../server/limits/policies.ts";
import { errorsOf } from "../../server/meta.ts";
import type { Services } from "../../server/services.ts";
import { sql } from "../../server/store/connection.ts";
import { createModerator } from "../factories/moderators.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { placeBid, postTask } from "../factories/tasks.ts";
import type { Answer } from "../setup/client.ts";
import { rest } from "../setup/client.ts";
import { expectError } from "../setup/expectError.ts";
import { pathWith, routes } from "../setup/operations.ts";
import { useService, watched } from "../setup/testService.ts";

/** What can happen to every operation, whatever it does: each answer is compared with the API document on its way out. */
const service = useService();
let moderator: TestPerson;

beforeAll(async () => {
  moderator = await createModerator(service);
});

const id = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff";

/** Sends a request to every operation that documents this error, with a session that may do everything. */
async function expectEverywhere(
  code: ErrorCode,
  send: (route: Route) => Promise<Pick<Answer, "status" | "body">>,
): Promise<void> {
  const concerned = routes.filter(({ meta }) => errorsOf(meta).includes(code));
  expect(concerned.length).toBeGreaterThan(20);
  const other: string[] = [];
  for (const route of concerned) {
    const { status, body } = await send(route);
    if (body?.error !== code) other.push(`${route.procedurePath}: ${status} ${body?.error}`);
  }
  expect(other).toEqual([]);
}

const send = (
  route: Route,
  { url = service.url, query = "", body }: { url?: string; query?: string; body?: unknown } = {},
) => rest(url, route.method, pathWith(route, id) + query, { body, headers: moderator.session });

/** Runs `work` against another instance of the service, with something different behind it. */
async function withInstance(changes: Partial<Services>, work: (url: string) => Promise<void>): Promise<void> {
  const app = createApp({ ...service.services, ...changes }, { trustProxy: false });
  const port = await getPort();
  const server = await serve(watched(service, app), port, "127.0.0.1");
  try {
    await work(`http://127.0.0.1:${port}`);
  } finally {
    await server.stop();
  }
}

test("every operation refuses a field that it does not know", async () => {
  await expectEverywhere("invalid_input", (route) =>
    send(route, route.takesBody ? { body: { unheardOf: 1 } } : { query: "?unheardOf=1" }),
  );
});

test("every operation with a body refuses one that is too large, and one that is not JSON", async () => {
  const large = { unheardOf: "x".repeat(256 * 1024) };
  await expectEverywhere("payload_too_large", (route) => send(route, { body: large }));
  await expectEverywhere("unsupported_media_type", async (route) => {
    const headers = { ...moderator.session, "content-type": "text/plain" };
    const { method } = route;
    const response = await fetch(service.url + pathWith(route, id), { method, headers, body: "hello" });
    return { status: response.status, body: await response.json() };
  });
});

test("every operation that takes an Idempotency-Key refuses one that another request has used", async () => {
  const { paths } = (await rest(service.url, "GET", "/openapi.json")).body;
  const headers = { ...moderator.session, "idempotency-key": "used" };
  const first = { label: "my agent", scopes: [] };
  expect((await rest(service.url, "POST", "/keys", { body: first, headers })).status).toBe(201);
  // The examples of the document are valid input.
  await expectEverywhere("idempotency_conflict", (route) => {
    const { requestBody } = paths[route.path][route.method.toLowerCase()];
    const example = requestBody?.content["application/json"].example;
    const body = example && { ...example, ...("password" in example && { password: moderator.password }) };
    return rest(service.url, route.method, pathWith(route, id), { body, headers });
  });
});

test("every operation is limited", async () => {
  const { database, log } = service.services;
  const nothing = Object.fromEntries(Object.keys(defaultLimits).map((policy) => [policy, 0]));
  const limiter = openLimiter(database.pool, log, { limits: nothing });
  await withInstance({ limiter }, (url) => expectEverywhere("rate_limited", (route) => send(route, { url })));
});

test("every operation is unavailable while the database is", async () => {
  const { database } = service.services;
  const unreachable = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
  const fail = () => Promise.reject(unreachable);
  const failing = { ...database, query: fail, transaction: fail, snapshot: fail };
  await withInstance({ database: failing }, (url) => expectEverywhere("unavailable", (route) => send(route, { url })));
  service.errors.length = 0; // each failure is logged
});

test("an award that the ledger refuses is ledger_failed, and changes nothing", async () => {
  const buyer = await createPerson(service, { cents: 10_000 });
  const bidder = await createPerson(service);
  const task = await postTask(buyer, { maxBudgetCents: 8_000 });
  const bid = await placeBid(bidder, task.id, { priceCents: 5_000 });
  const setHeld = (cents: number) =>
    service.owner.transaction(async (tx) => {
      // What no code can do: a wallet that holds less than its tasks need.
      await tx.query(sql`ALTER TABLE wallets DISABLE TRIGGER ALL`);
      await tx.query(sql`UPDATE wallets SET held_cents = ${cents} WHERE user_id = ${buyer.id}::uuid`);
      await tx.query(sql`ALTER TABLE wallets ENABLE TRIGGER ALL`);
    });
  await setHeld(0);
  expectError(await buyer.post(`/tasks/${task.id}/award`, { bidId: bid.id }), "ledger_failed");
  await setHeld(8_000);
  expect((await buyer.get(`/tasks/${task.id}`)).body.task.status).toBe("open");
  expect((await buyer.post(`/tasks/${task.id}/award`, { bidId: bid.id })).status).toBe(200);
});
