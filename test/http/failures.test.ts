import getPort from "get-port";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ProcessorUnavailable } from "../../server/gateways/processorErrors.ts";
import { createApp } from "../../server/http/app.ts";
import { type HttpServer, serve } from "../../server/http/server.ts";
import type { Services } from "../../server/services.ts";
import { primaryReads } from "../../server/store/publicReads.ts";
import { createPerson } from "../factories/people.ts";
import { expectErrorBody } from "../setup/expectError.ts";
import { routeOf, transports } from "../setup/operations.ts";
import { useService, watched } from "../setup/testService.ts";

const service = useService();
let lines: { requestId?: string; level: number; procedure?: string }[];
let stops: HttpServer[];

beforeEach(() => {
  lines = [];
  stops = [];
});
afterEach(async () => {
  for (const server of stops) await server.stop();
});

/** A second instance of the same service, with a backing service that fails. */
async function broken(changes: (services: Services) => Partial<Services>): Promise<string> {
  const { services } = service;
  const log = pino(
    { serializers: { error: pino.stdSerializers.err } },
    { write: (line) => lines.push(JSON.parse(line)) },
  );
  const port = await getPort();
  const changed = { ...services, log, ...changes(services) };
  const app = createApp({ ...changed, publicReads: primaryReads(changed.database) }, { trustProxy: false });
  stops.push(await serve(watched(service, app), port, "127.0.0.1"));
  return `http://127.0.0.1:${port}`;
}

const unreachable = Object.assign(new Error("connect ECONNREFUSED 10.0.0.7:5432"), { code: "ECONNREFUSED" });
const bug = new TypeError("Cannot read properties of undefined (reading 'secret_column')");

test("/metrics responds while the database is unreachable, with the process's own figures; a bug is not mistaken for that", async () => {
  const metricsWhen = async (failure: Error) => {
    const url = await broken(({ database }) => ({ database: { ...database, query: () => Promise.reject(failure) } }));
    await fetch(`${url}/livez`);
    return fetch(`${url}/metrics`);
  };
  const answer = await metricsWhen(unreachable);
  const text = await answer.text();
  expect(answer.status).toBe(200);
  expect(text).toContain("rebid_database_up 0\n");
  expect(text).toContain('rebid_http_requests_total{method="GET",status="200"} 1\n');
  expect(text).not.toContain("rebid_jobs_waiting");
  expect((await metricsWhen(bug)).status).toBe(500);
  expect(await (await fetch(`${service.url}/metrics`)).text()).toContain("rebid_database_up 1\n");
});

describe.each(transports)("over $transport", ({ call }) => {
  test.each([
    ["unavailable", 503, "the database is unreachable", unreachable],
    ["internal_error", 500, "there is a bug", bug],
  ] as const)(
    "%s (%i) when %s: logged once with the request's id, and no detail reaches the client",
    async (code, status, _why, failure) => {
      const person = await createPerson(service);
      const failing = await broken(({ database }) => ({
        database: { ...database, query: () => Promise.reject(failure), transaction: () => Promise.reject(failure) },
      }));
      const calls = [
        await call(failing, routeOf("tasks.list"), {}), // fails in the procedure
        await call(failing, routeOf("wallet.read"), {}, person.session), // fails before the procedure
        await call(failing, routeOf("tasks.cancel"), { id: crypto.randomUUID() }, person.key),
      ];
      for (const answer of calls) {
        expectErrorBody(answer.body, code);
        expect(answer.status).toBe(status);
        expect(JSON.stringify(answer.body)).not.toMatch(/ECONNREFUSED|10\.0\.0\.7|secret_column/);
        expect(answer.headers.get("x-request-id")).toBe(answer.body.requestId);
        expect(lines.filter(({ requestId }) => requestId === answer.body.requestId)).toHaveLength(1);
      }
      expect(JSON.stringify(lines)).toContain(failure.message.slice(0, 20));
    },
  );

  test("processor_unavailable (502) when the payment processor does not respond", async () => {
    const person = await createPerson(service);
    const failing = await broken(({ processor }) => ({
      processor: {
        ...processor,
        createCheckoutSession: () => Promise.reject(new ProcessorUnavailable("ECONNREFUSED at api.stripe.com")),
      },
    }));
    const answer = await call(failing, routeOf("wallet.topup"), { amountCents: 500 }, person.session);
    expectErrorBody(answer.body, "processor_unavailable");
    expect([answer.status, JSON.stringify(answer.body).includes("stripe")]).toEqual([502, false]);
  });
});

test("an RPC batch has the status of its calls when none of them could start", async () => {
  const person = await createPerson(service);
  const url = await broken(({ database }) => ({
    database: { ...database, query: () => Promise.reject(unreachable) },
  }));
  const answer = await fetch(`${url}/trpc/wallet.read,auth.me?batch=1`, { headers: person.session });
  expect([answer.status, answer.headers.get("content-type")]).toEqual([503, "application/json"]);
  const calls = (await answer.json()) as { error: { data: { error: string } } }[];
  expect(calls.map(({ error }) => error.data.error)).toEqual(["unavailable", "unavailable"]);
});
