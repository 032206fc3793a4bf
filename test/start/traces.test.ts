import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { statementName } from "../../server/store/statementName.ts";
import { cookieOf } from "../factories/people.ts";
import { rest } from "../setup/client.ts";
import { useProcesses } from "../setup/serviceProcess.ts";
import { startReceiver } from "../webhooks/receiver.ts";

const { start, preparedDirectory } = useProcesses();

interface Span {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
}

/** Takes spans as a collector does, in the JSON form of OTLP. */
async function startCollector() {
  const spans: Span[] = [];
  const texts: string[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    texts.push(text);
    for (const { scopeSpans } of JSON.parse(text).resourceSpans)
      for (const scope of scopeSpans) spans.push(...scope.spans);
    response.setHeader("Content-Type", "application/json").end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, spans, texts };
}

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const traceparent = `00-${traceId}-00f067aa0ba902b7-01`;
const password = "correct horse battery";

test("one trace leads from a request over its statements and its job to its mail and its webhook, and names no person", async () => {
  const collector = await startCollector();
  const receiver = await startReceiver();
  onTestFinished(receiver.stop);
  const service = await start({
    DATA_DIR: await preparedDirectory(),
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_BSP_SCHEDULE_DELAY: "50",
    LOG_LEVEL: "info",
    WEBHOOK_ALLOW_INSECURE: "on",
  });
  await service.ready();
  const headers = { traceparent };
  const body = { email: "ada@example.com", password, displayName: "Ada Lovelace" };
  const credentials = cookieOf(await rest(service.url, "POST", "/auth/signup", { body, headers }));
  const hook = { url: receiver.url, events: ["task.created"] };
  const { id } = (await rest(service.url, "POST", "/webhooks", { body: hook, credentials })).body;
  await rest(service.url, "POST", `/webhooks/${id}/test`, { credentials, headers });

  const spansOf = (name: string) => collector.spans.filter((span) => span.name === name && span.traceId === traceId);
  const expected = [
    ...["HTTP POST", "auth.signup", "transaction", "INSERT users", "job sendAccountMail", "mail.send"],
    ...["webhooks.test", "INSERT events", "webhook"],
  ];
  await expect.poll(() => expected.filter((name) => spansOf(name).length === 0)).toEqual([]);

  const byId = new Map(collector.spans.map((span) => [span.spanId, span]));
  const path = (name: string) => {
    const names: string[] = [];
    for (let span = spansOf(name)[0]; span !== undefined; span = byId.get(span.parentSpanId ?? ""))
      names.push(span.name);
    return names;
  };
  expect(path("mail.send").slice(0, 2)).toEqual(["mail.send", "job sendAccountMail"]);
  expect(path("mail.send").slice(-2)).toEqual(["auth.signup", "HTTP POST"]);
  expect(path("webhook")[0]).toBe("webhook");
  expect(path("webhook").slice(-2)).toEqual(["webhooks.test", "HTTP POST"]);
  const [webhook] = spansOf("webhook");
  expect(receiver.received[0]?.headers.traceparent).toBe(`00-${traceId}-${webhook?.spanId}-01`);

  const said = collector.texts.join("") + service.stdout();
  for (const secret of [password, "ada@example.com", "Ada Lovelace", "rebid_session="])
    expect(collector.texts.join("")).not.toContain(secret);
  const lines = service
    .stdout()
    .split("\n")
    .filter((line) => line.includes('"account.created"'));
  expect(lines.map((line) => JSON.parse(line).traceId)).toEqual([traceId]);
  expect(said).not.toContain(password);
});

test("a share of 0 sends nothing, whatever the caller asks for, and webhooks and logs still name the trace", async () => {
  const collector = await startCollector();
  const service = await start({
    DATA_DIR: await preparedDirectory(),
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_BSP_SCHEDULE_DELAY: "50",
    LOG_LEVEL: "info",
    OTEL_TRACES_SAMPLER_ARG: "0",
  });
  await service.ready();
  const body = { email: "bo@example.com", password, displayName: "Bo" };
  expect((await rest(service.url, "POST", "/auth/signup", { body, headers: { traceparent } })).status).toBe(201);
  await expect.poll(() => service.stdout()).toContain(traceId);
  await service.stop();
  expect(collector.spans).toEqual([]);
});

test("a collector that does not respond slows nothing down and stops nothing", async () => {
  const service = await start({
    DATA_DIR: await preparedDirectory(),
    OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9",
    // The span of the request is still to be sent when the service stops.
    OTEL_BSP_SCHEDULE_DELAY: "60000",
    LOG_LEVEL: "info",
  });
  await service.ready();
  expect((await rest(service.url, "GET", "/tasks")).status).toBe(200);
  expect((await service.stop()).code).toBe(0);
});

test.each([
  ["SELECT id FROM tasks WHERE id = $1", "SELECT tasks"],
  ["\n  UPDATE bids SET price_cents = $1 RETURNING id", "UPDATE bids"],
  [
    "WITH recorded AS (\n INSERT INTO events (type) SELECT 1 FROM x) INSERT INTO y SELECT id FROM recorded",
    "INSERT events",
  ],
  ["SELECT graphile_worker.add_job($1, $2::json)", "SELECT graphile_worker.add_job"],
  ["SELECT last_position FROM advance_event_log($1, $2)", "SELECT advance_event_log"],
  ["DELETE FROM sessions WHERE id = $1", "DELETE sessions"],
])("the name of %j is %j", (text, name) => {
  expect(statementName(text)).toBe(name);
});
