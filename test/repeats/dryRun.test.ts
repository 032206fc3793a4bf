import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { Route } from "../../server/http/routes.ts";
import { takesDryRun } from "../../server/meta.ts";
import { sql } from "../../server/store/connection.ts";
import { createPerson } from "../factories/people.ts";
import { deliveredTask, placeBid, postTask, taskInput } from "../factories/tasks.ts";
import { type Credentials, rest } from "../setup/client.ts";
import { expectErrorBody, issuePaths } from "../setup/expectError.ts";
import {
  callOverRest,
  callOverRpc,
  type Input,
  type Outcome,
  routeOf,
  routes,
  transports,
} from "../setup/operations.ts";
import { type TestService, useService } from "../setup/testService.ts";
import { type Arranged, arrangements, webhookHost } from "./arrangements.ts";

const service = useService({
  settings: { spamGuard: true },
  resolve: async (name) => (name === webhookHost ? ["93.184.215.14"] : Promise.reject(new Error("no such name"))),
});
const dryRun = { "dry-run": "true" };

const changing = routes.filter(({ type }) => type === "mutation");
const tried = changing.filter(({ meta }) => takesDryRun(meta));
const refusing = changing.filter(({ meta }) => !takesDryRun(meta));
const named = (chosen: readonly Route[]) => chosen.map((route) => [route.procedurePath, route] as const);

const arrange = (name: string): Promise<Arranged> => {
  const arrangement = arrangements[name];
  if (arrangement === undefined) throw new Error(`${name} has no arrangement`);
  return arrangement(service);
};

const isDry = ({ headers }: Outcome) => headers.get("dry-run") === "true";

/** A hash of all rows of each table, the job queue's included. Sequences are no tables. */
async function dump({ services }: TestService): Promise<Record<string, string>> {
  const { pool } = services.database;
  const { rows: tables } = await pool.query<{ name: string }>(`
    SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
    WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1`);
  const hashes: Record<string, string> = {};
  for (const { name } of tables) {
    const { rows } = await pool.query<{ row: string }>(`SELECT t::text AS row FROM ${name} t ORDER BY 1`);
    hashes[name] = createHash("sha256").update(JSON.stringify(rows)).digest("hex");
  }
  return hashes;
}

/** What two answers have in common although each names other rows: the fields and the types of their values. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value !== "object" || value === null) return value === null ? null : typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, shapeOf(inner)]));
}

test("what asks the outside world, gives out an address, or is about accounts and sessions cannot be tried", () => {
  const names = refusing.map(({ procedurePath }) => procedurePath).filter((name) => !name.startsWith("auth."));
  expect(names.sort()).toEqual(
    [
      ...["wallet.topup", "payouts.onboarding", "payouts.create", "webhooks.create", "webhooks.test"],
      "notifications.subscribePush",
      "approvals.approve",
      ...[
        "bids.sampleInit",
        "bids.sampleFinalize",
        "bids.deliveryInit",
        "bids.deliveryFinalize",
        "bids.deliveryPreflight",
        "tasks.preflight",
      ],
      ...["tasks.fileInit", "tasks.fileFinalize", "messages.fileInit", "messages.fileFinalize"],
    ].sort(),
  );
  expect(tried.filter(({ procedurePath }) => procedurePath.startsWith("auth."))).toEqual([]);
});

describe.each(named(tried))("%s", (name, route) => {
  test("answers as the real call would, and changes no row of any table", async () => {
    const { caller, input } = await arrange(name);
    const before = await dump(service);
    const withKey = { ...caller.session, ...dryRun, "idempotency-key": `tried-${name}` };
    const answers = [
      await callOverRest(service.url, route, input, { ...caller.session, ...dryRun }),
      await callOverRpc(service.url, route, input, { ...caller.session, ...dryRun }),
      await callOverRest(service.url, route, input, withKey),
      await callOverRpc(service.url, route, input, withKey),
    ];
    expect(await dump(service)).toEqual(before);
    const real = await callOverRest(service.url, route, input, { ...caller.session, "dry-run": "false" });
    expect([real.status, isDry(real)]).toEqual([route.status, false]);
    for (const answer of answers) {
      expect([answer.status, isDry(answer)]).toEqual([real.status, true]);
      expect(answer.headers.get("idempotent-replayed")).toBeNull();
      expect(shapeOf(answer.body ?? null)).toEqual(shapeOf(real.body ?? null));
    }
    expect(await dump(service)).not.toEqual(before);
  });
});

describe.each(transports)("over $transport", ({ call }) => {
  const inputOf = (route: Route): Input =>
    Object.fromEntries(route.pathParameters.map((parameter) => [parameter, crypto.randomUUID()]));

  async function eventsOfAccount(userId: string): Promise<number> {
    const events = await service.services.database.query(sql`
      SELECT FROM processor_events e JOIN payout_accounts a ON a.account_id = e.payload ->> 'relatedObjectId'
      WHERE a.user_id = ${userId}::uuid`);
    return events.length;
  }

  test.each(named(refusing))("%s refuses to be tried, and `false` is as good as nothing", async (_name, route) => {
    const { id, session } = await createPerson(service);
    const answer = await call(service.url, route, inputOf(route), { ...session, ...dryRun });
    expectErrorBody(answer.body, "invalid_input");
    expect([answer.status, issuePaths(answer.body), isDry(answer)]).toEqual([400, ["Dry-Run"], false]);
    const without = await call(service.url, route, inputOf(route), { ...session, "dry-run": "false" });
    expect(issuePaths(without.body ?? {})).not.toContain("Dry-Run");
    // The processor tells of the account that this made, and the next test compares all tables.
    if (route.procedurePath === "payouts.onboarding") await expect.poll(() => eventsOfAccount(id)).toBe(1);
  });

  test.each(["", "TRUE", "1", "yes", "true, true"])("the value %j is refused, and nothing is done", async (value) => {
    const { session } = await createPerson(service, { cents: 20_000 });
    const before = await dump(service);
    for (const route of [routeOf("tasks.create"), routeOf("auth.logout"), routeOf("auth.login")]) {
      const answer = await call(service.url, route, taskInput(), { ...session, "dry-run": value });
      expectErrorBody(answer.body, "invalid_input");
      expect([answer.status, issuePaths(answer.body), isDry(answer)]).toEqual([400, ["Dry-Run"], false]);
    }
    expect(await dump(service)).toEqual(before);
  });

  test("reads ignore it, whatever it says", async () => {
    const { session } = await createPerson(service);
    for (const value of ["true", "perhaps"]) {
      const read = await call(service.url, routeOf("wallet.read"), {}, { ...session, "dry-run": value });
      expect([read.status, isDry(read)]).toEqual([200, false]);
    }
  });

  test("refusals are the real ones, and have the header too", async () => {
    const [buyer, poor] = [await createPerson(service, { cents: 10_000 }), await createPerson(service)];
    const task = await postTask(buyer);
    const create = routeOf("tasks.create");
    const refusals: [Route, Input, Credentials, string, number][] = [
      [create, taskInput(), poor.session, "insufficient_funds", 402],
      [create, { ...taskInput(), tags: "one" }, buyer.session, "invalid_input", 400],
      [create, taskInput(), {}, "unauthenticated", 401],
      [routeOf("tasks.cancel"), { id: task.id }, poor.session, "forbidden", 403],
      [routeOf("tasks.accept"), { id: task.id }, buyer.session, "wrong_status", 409],
      [routeOf("tasks.cancel"), { id: crypto.randomUUID() }, buyer.session, "not_found", 404],
      [routeOf("bids.place"), { id: task.id, priceCents: 1, etaHours: 1 }, buyer.session, "forbidden", 403],
    ];
    for (const [route, input, credentials, code, status] of refusals) {
      const answer = await call(service.url, route, input, { ...credentials, ...dryRun });
      const real = await call(service.url, route, input, credentials);
      expect([answer.status, answer.body.error, isDry(answer)]).toEqual([status, code, true]);
      expect({ ...answer.body, requestId: "" }).toEqual({ ...real.body, requestId: "" });
    }
  });
});

test("a batch of several calls cannot be tried, its reads are answered, and a batch of one can", async () => {
  const { session, id } = await createPerson(service, { cents: 20_000 });
  const batch = (names: string[], inputs: unknown[]) =>
    rest(service.url, "POST", `/trpc/${names.join(",")}?batch=1`, {
      body: Object.fromEntries(inputs.map((input, index) => [index, input])),
      headers: { ...session, ...dryRun },
    });
  const several = await batch(["tasks.create", "tasks.create"], [taskInput(), taskInput()]);
  expect(several.headers.get("dry-run")).toBeNull();
  for (const { error } of several.body) {
    expectErrorBody(error.data, "invalid_input");
    expect(issuePaths(error.data)).toEqual(["Dry-Run"]);
  }
  const one = await batch(["tasks.create"], [taskInput()]);
  expect([one.status, one.headers.get("dry-run")]).toEqual([200, "true"]);
  const tasks = await service.services.database.query(sql`SELECT 1 FROM tasks WHERE buyer_id = ${id}::uuid`);
  expect(tasks).toEqual([]);
});

test("a key that has an answer gives it, or the conflict; a new key stays free", async () => {
  const person = await createPerson(service, { cents: 50_000 });
  const [create, input] = [routeOf("tasks.create"), taskInput()];
  const headers = { ...person.session, "idempotency-key": "tried" };
  expect((await callOverRest(service.url, create, input, { ...headers, ...dryRun })).status).toBe(201);
  const first = await callOverRest(service.url, create, input, headers);
  expect([first.status, first.headers.get("idempotent-replayed")]).toEqual([201, null]);
  const again = await callOverRest(service.url, create, input, { ...headers, ...dryRun });
  expect([again.status, again.body]).toEqual([201, first.body]);
  expect([isDry(again), again.headers.get("idempotent-replayed")]).toEqual([true, "true"]);
  const other = await callOverRest(service.url, create, taskInput(), { ...headers, ...dryRun });
  expect([other.status, other.body.error, isDry(other)]).toEqual([409, "idempotency_conflict", true]);
});

test("a key of an API that was only tried does not work, and the spam guard does not count tried tasks", async () => {
  const person = await createPerson(service, { cents: 10_000 });
  const label = { label: "agent", scopes: ["task:write"] };
  const minted = await callOverRest(service.url, routeOf("keys.create"), label, { ...person.session, ...dryRun });
  const credentials = { authorization: `Bearer ${minted.body.raw}` };
  expect((await rest(service.url, "GET", "/auth/me", { credentials })).status).toBe(401);
  const input = taskInput();
  for (let count = 0; count < 60; count++) {
    const answer = await callOverRest(service.url, routeOf("tasks.create"), input, { ...person.session, ...dryRun });
    expect(answer.status).toBe(201);
  }
  expect((await person.post("/tasks", input)).status).toBe(201);
});

test("what a commit would refuse is refused: deferred constraints are checked before everything is undone", async () => {
  const { id } = await createPerson(service, { cents: 1_000 });
  const { database } = service.services;
  const forge = database.rehearse((tx) =>
    tx.query(sql`UPDATE wallets SET available_cents = available_cents + 1 WHERE user_id = ${id}::uuid`),
  );
  await expect(forge).rejects.toThrow(/wallet/);
});

test("tried calls and real ones go on side by side, and the tried ones hold nothing afterwards", async () => {
  const [buyer, bidder] = [await createPerson(service, { cents: 20_000 }), await createPerson(service)];
  const task = await postTask(buyer);
  const bid = await placeBid(bidder, task.id);
  const award = routeOf("tasks.award");
  const awards = await Promise.all(
    Array.from({ length: 12 }, (_, index) =>
      callOverRest(
        service.url,
        award,
        { id: task.id, bidId: bid.id },
        {
          ...buyer.session,
          ...(index !== 6 && dryRun),
        },
      ),
    ),
  );
  expect(awards[6]?.status).toBe(200);
  for (const { status } of awards) expect([200, 409]).toContain(status);
  const { task: delivered } = await deliveredTask(buyer, bidder, { maxBudgetCents: 5_000, priceCents: 4_000 });
  const accept = await callOverRest(
    service.url,
    routeOf("tasks.accept"),
    { id: delivered.id },
    { ...buyer.session, ...dryRun },
  );
  expect([accept.status, accept.body.task.status]).toEqual([200, "accepted"]);
  expect((await buyer.get(`/tasks/${delivered.id}`)).body.task.status).toBe("delivered");
});

test("the document shows the header on every operation that takes it, and on no other", async () => {
  const { paths } = (await rest(service.url, "GET", "/openapi.json")).body;
  const parameter = { $ref: "#/components/parameters/DryRun" };
  for (const { path, method, status, meta, procedurePath } of routes) {
    const operation = paths[path][method.toLowerCase()];
    const hasHeader = JSON.stringify(operation.parameters ?? []).includes(JSON.stringify(parameter));
    const isAnnounced = operation.responses[status].headers?.["Dry-Run"] !== undefined;
    expect([procedurePath, hasHeader, isAnnounced]).toEqual([procedurePath, takesDryRun(meta), takesDryRun(meta)]);
  }
});
