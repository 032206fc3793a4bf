import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { errorCatalogue } from "../../server/errors.ts";
import type { Route } from "../../server/http/routes.ts";
import { errorsOf } from "../../server/trpc.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { rest } from "../setup/client.ts";
import { expectError, expectErrorBody, issuePaths } from "../setup/expectError.ts";
import { callOverRpc, inputFieldsOf, pathWith, routes } from "../setup/operations.ts";
import { useService } from "../setup/testService.ts";

const service = useService();
let person: TestPerson;

beforeAll(async () => {
  person = await createPerson(service, { cents: 1_000_000 });
});

/** Values of every JSON type, starting with those that are known to break services. */
const anyJson = fc.oneof(
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 3, noUnicodeString: false }) as fc.Arbitrary<unknown> },
  fc.constantFrom<unknown>(
    null,
    true,
    "",
    "100",
    "\0",
    "\ud800",
    "💸",
    0,
    -1,
    100,
    100.5,
    2 ** 31,
    2 ** 53,
    -(2 ** 31),
  ),
  fc.constantFrom<unknown>(
    [],
    {},
    [null],
    "2026-02-30T00:00:00Z",
    "a".repeat(200),
    "'; --",
    "%00",
    crypto.randomUUID(),
  ),
);

/** Objects of the operation's own fields, some left out, some unknown ones added. */
function inputsFor(route: Route) {
  const fields = inputFieldsOf(route).filter((field) => !route.pathParameters.includes(field));
  const known = fc.record(Object.fromEntries(fields.map((field) => [field, anyJson])), { requiredKeys: [] });
  return fc.tuple(known, fc.dictionary(fc.string({ unit: "binary", maxLength: 8 }), anyJson, { maxKeys: 1 }));
}

function documented(route: Route, status: number, body: { error?: string } | undefined): void {
  if (status === route.status) return;
  const code = errorsOf(route.meta).find((known) => known === body?.error);
  expect(code, `${route.procedurePath} returned ${status} ${JSON.stringify(body)}`).toBeDefined();
  if (code === undefined || body === undefined) return;
  expectErrorBody(body, code);
  expect(status).toBe(errorCatalogue[code].status);
  expect(status).toBeLessThan(500);
}

test.each(routes.map((route) => [route.procedurePath, route] as const))(
  "whatever JSON is sent, %s returns only documented responses, the same over REST and RPC",
  async (_name, route) => {
    // Every valid sign-up runs argon2, and logging out would end the session of the next run.
    if (route.procedurePath === "auth.logout") return;
    const id = crypto.randomUUID();
    const path = pathWith(route, id);
    await fc.assert(
      fc.asyncProperty(inputsFor(route), async ([known, unknown]) => {
        const input: Record<string, unknown> = { ...unknown, ...known };
        const takesBody = route.method === "POST" || route.method === "PATCH";
        const query = new URLSearchParams();
        for (const [name, value] of Object.entries(input)) {
          query.set(name, typeof value === "string" ? value : JSON.stringify(value));
        }
        const answer = takesBody
          ? await rest(service.url, route.method, path, { body: input, credentials: person.session })
          : await rest(service.url, route.method, `${path}?${query}`, { credentials: person.session });
        documented(route, answer.status, answer.body);

        const ids = Object.fromEntries(route.pathParameters.map((name) => [name, id]));
        const overRpc = await callOverRpc(service.url, route, { ...input, ...ids }, person.session);
        documented(route, overRpc.status, overRpc.body);
        // In a query, text becomes an integer; a body means the same on both transports.
        if (takesBody && answer.status >= 400) {
          expect(overRpc.body.error).toBe(answer.body.error);
          expect(issuePaths(overRpc.body)).toEqual(issuePaths(answer.body));
        }
      }),
      { numRuns: 40 },
    );
  },
);

test.each(routes.map((route) => [route.procedurePath, route] as const))(
  "%s names a field that it does not know",
  async (_name, route) => {
    const path = pathWith(route, crypto.randomUUID());
    const takesBody = route.method === "POST" || route.method === "PATCH";
    const answer = takesBody
      ? await rest(service.url, route.method, path, { body: { unheardOf: 1 }, credentials: person.session })
      : await rest(service.url, route.method, `${path}?unheardOf=1`, { credentials: person.session });
    expectError(answer, route.meta.access === "moderator" ? "forbidden" : "invalid_input");
    if (route.meta.access !== "moderator") expect(issuePaths(answer.body)).toContain("unheardOf");
  },
);
