import { describe, expect, test } from "vitest";
import type { Route } from "../../server/http/routes.ts";
import { takesIdempotencyKey } from "../../server/meta.ts";
import { sql } from "../../server/store/connection.ts";
import { createPerson } from "../factories/people.ts";
import { expectBooksToBalance } from "../setup/books.ts";
import { rest } from "../setup/client.ts";
import { expectErrorBody } from "../setup/expectError.ts";
import { callOverRest, callOverRpc, inputSchemasOf, type Outcome, routes } from "../setup/operations.ts";
import { useService } from "../setup/testService.ts";
import { type Arranged, arrangements, growthDuring, webhookHost } from "./arrangements.ts";

const service = useService({
  resolve: async (name) => (name === webhookHost ? ["93.184.215.14"] : Promise.reject(new Error("no such name"))),
});
const REPEATS = 50;

const changing = routes.filter(({ meta }) => takesIdempotencyKey(meta));
const ignoring = routes.filter(({ type, meta }) => type === "mutation" && !takesIdempotencyKey(meta));

test("every operation that changes something for a known caller takes the header, except those with sessions and passwords", () => {
  expect(changing.map(({ procedurePath }) => procedurePath).sort()).toEqual(Object.keys(arrangements).sort());
  expect(changing.every(({ type }) => type === "mutation")).toBe(true);
  expect(ignoring.map(({ procedurePath }) => procedurePath)).toEqual([
    "auth.signup",
    "auth.login",
    "auth.logout",
    "auth.changePassword",
    "auth.forgotPassword",
    "auth.resetPassword",
    "auth.verifyEmail",
    "auth.startTotp",
    "auth.confirmTotp",
    "auth.removeTotp",
    "auth.close",
    "approvals.approve",
    "tasks.preflight",
    "bids.deliveryPreflight",
  ]);
});

/** Whether an input, as a JSON Schema, has a field at any depth that proves who somebody is. */
function takesCredential(schema: unknown): boolean {
  if (typeof schema !== "object" || schema === null) return false;
  if ("format" in schema && schema.format === "password") return true;
  const fields = "properties" in schema ? Object.keys(schema.properties ?? {}) : [];
  return (
    fields.some((name) => /password|secret|token|code$/i.test(name)) || Object.values(schema).some(takesCredential)
  );
}

test("no operation that takes a password, a code or a token keeps a hash of it", async () => {
  const guarded = routes.filter((route) => inputSchemasOf(route).some(takesCredential));
  expect(guarded.map(({ procedurePath }) => procedurePath)).toEqual(
    expect.arrayContaining(["auth.login", "auth.changePassword", "auth.confirmTotp", "auth.close"]),
  );
  expect(guarded.filter(({ meta }) => takesIdempotencyKey(meta))).toEqual([]);

  const person = await createPerson(service);
  const begin = () =>
    rest(service.url, "POST", "/auth/totp", {
      body: { password: person.password },
      credentials: person.session,
      headers: { "idempotency-key": "one" },
    });
  const [first, second] = [await begin(), await begin()];
  expect([first.status, second.status, first.body.secret === second.body.secret]).toEqual([200, 200, false]);
  const kept = await service.services.database.query(sql`
    SELECT 1 FROM idempotency_keys WHERE user_id = ${person.id}::uuid`);
  expect(kept).toEqual([]);
});

/** Addresses are signed anew each time, so they are no part of what must be equal. */
const withoutAddresses = (body: unknown) =>
  JSON.stringify(body, (name, value) => (["uploadUrl", "downloadUrl"].includes(name) ? typeof value : value));

const isReplayed = ({ headers }: Outcome) => headers.get("idempotent-replayed") === "true";

/** Half over REST and half over RPC, with the caller's API key where one is allowed: the scope of a key is the user. */
async function callMany(route: Route, { caller, input }: Arranged, key: Record<string, string>): Promise<Outcome[]> {
  const overRest = typeof route.meta.access === "object" ? caller.key : caller.session;
  const calls = Array.from({ length: REPEATS }, (_, index) =>
    index % 2 === 0
      ? callOverRest(service.url, route, input, { ...overRest, ...key })
      : callOverRpc(service.url, route, input, { ...caller.session, ...key }),
  );
  return Promise.all(calls);
}

describe.each(changing.map((route) => [route.procedurePath, route] as const))("%s", (name, route) => {
  const arrange = () => {
    const arrangement = arrangements[name];
    if (arrangement === undefined) throw new Error(`${name} has no arrangement`);
    return arrangement(service);
  };

  test(`${REPEATS} repeats at once, over both transports, do it once and get its answer`, async () => {
    const once = await arrange();
    const single = await growthDuring(service, async () => {
      const answer = await callOverRest(service.url, route, once.input, once.caller.session);
      expect([answer.status, answer.body]).toEqual([route.status, answer.body]);
      expect(isReplayed(answer)).toBe(false);
    });

    const arranged = await arrange();
    const key = { "idempotency-key": `key-of-${name}` };
    let answers: Outcome[] = [];
    const growth = await growthDuring(service, async () => {
      answers = await callMany(route, arranged, key);
    });
    expect(growth).toEqual(single);

    const reversed = Object.fromEntries(Object.entries(arranged.input).reverse());
    const later = await callOverRpc(service.url, route, reversed, { ...arranged.caller.session, ...key });
    if (route.meta.showsSecret) {
      const [first, ...others] = answers.filter(({ status }) => status === route.status);
      expect(others).toEqual([]);
      const refused = [later, ...answers.filter(({ status }) => status !== route.status)];
      expect(refused).toHaveLength(REPEATS);
      for (const { body } of refused) {
        expectErrorBody(body, "idempotency_conflict");
        expect(body.id).toBe(first?.body.id);
      }
    } else {
      expect(answers.map(({ status }) => status)).toEqual(Array(REPEATS).fill(route.status));
      expect(answers.filter(isReplayed)).toHaveLength(REPEATS - 1);
      expect(isReplayed(later)).toBe(true);
      if (name !== "payouts.onboarding") {
        expect(new Set([...answers, later].map(({ body }) => withoutAddresses(body))).size).toBe(1);
      }
    }
    await expectBooksToBalance(service);
  });
});

test("what is kept of all these answers holds no secret and no signed address", async () => {
  const kept = await service.services.database.query<{ operation: string; answer: object }>(sql`
    SELECT operation, answer FROM idempotency_keys`);
  expect(new Set(kept.map(({ operation }) => operation)).size).toBe(changing.length);
  const secrets = /rb_live_|whsec_|signature|X-Amz|cs_test|checkout|onboarding|\wUrl"/i;
  expect(kept.filter(({ answer }) => secrets.test(JSON.stringify(answer)))).toEqual([]);
});

test("the document shows the header on every operation that takes it, and on no other", async () => {
  const { paths } = (await rest(service.url, "GET", "/openapi.json")).body;
  const parameter = { $ref: "#/components/parameters/IdempotencyKey" };
  for (const route of routes) {
    const operation = paths[route.path][route.method.toLowerCase()];
    const hasHeader = JSON.stringify(operation.parameters ?? []).includes(JSON.stringify(parameter));
    expect([route.procedurePath, hasHeader]).toEqual([route.procedurePath, takesIdempotencyKey(route.meta)]);
    const isAnnounced = operation.responses[route.status].headers?.["Idempotent-Replayed"] !== undefined;
    expect(isAnnounced).toBe(takesIdempotencyKey(route.meta) && !route.meta.showsSecret);
  }
});
