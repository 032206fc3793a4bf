import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, expect, test } from "vitest";
import { createApp, createMetricsApp } from "../../server/http/app.ts";
import { createMetrics, type MetricsAccess } from "../../server/http/metrics.ts";
import { rest } from "../setup/client.ts";
import { expectError } from "../setup/expectError.ts";
import { useService } from "../setup/testService.ts";

const service = useService();
const servers: ReturnType<typeof createServer>[] = [];
afterAll(() => {
  for (const server of servers) {
    server.close();
    server.closeAllConnections();
  }
});

async function start(access: Partial<MetricsAccess>): Promise<{ url: string; metricsUrl: string }> {
  const config = { trustProxy: false, production: true, metricsPort: null, metricsToken: null, ...access } as const;
  const metrics = createMetrics(service.services);
  const listen = async (app: Parameters<typeof createServer>[1]) => {
    const server = createServer(app);
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  };
  const url = await listen(createApp(service.services, config, {}, metrics));
  return { url, metricsUrl: await listen(createMetricsApp(service.services, config, metrics)) };
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

test("in production without settings, /metrics is a path like any other that does not exist", async () => {
  const { url } = await start({});
  for (const method of ["GET", "POST"]) expectError(await rest(url, method, "/metrics"), "not_found");
  const { url: development } = await start({ production: false });
  expect((await rest(development, "GET", "/metrics")).status).toBe(200);
});

test("METRICS_TOKEN opens it on the service's port, and nothing else does", async () => {
  const metricsToken = "a-token-of-the-tests";
  const { url } = await start({ metricsToken });
  for (const credentials of [{}, bearer("another-token"), bearer(`${metricsToken}x`), bearer("")]) {
    expectError(await rest(url, "GET", "/metrics", { credentials }), "not_found");
  }
  const answer = await rest(url, "GET", "/metrics", { credentials: bearer(metricsToken) });
  expect([answer.status, answer.text.includes("rebid_database_up 1")]).toEqual([200, true]);
});

test("METRICS_PORT serves /metrics and the probes of the same process, and nothing else", async () => {
  const { url, metricsUrl } = await start({ metricsPort: 1 });
  await rest(url, "GET", "/tasks");
  expectError(await rest(url, "GET", "/metrics"), "not_found");
  const { status, text, headers } = await rest(metricsUrl, "GET", "/metrics");
  expect(status).toBe(200);
  expect(text).toMatch(/rebid_http_request_duration_seconds_count\{operation="tasks\.list",status="200"\} 1/);
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  for (const path of ["/livez", "/readyz"])
    expect((await rest(metricsUrl, "GET", path)).body).toEqual({ status: "ok" });
  for (const path of ["/", "/tasks", "/auth/me", "/openapi.json"])
    expectError(await rest(metricsUrl, "GET", path), "not_found");
});
