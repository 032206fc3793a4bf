import { expect, test } from "vitest";
import { rest } from "../setup/client.ts";
import { useProcesses } from "../setup/serviceProcess.ts";
import { unusedPort } from "../setup/unusedPort.ts";

const { start, preparedDirectory } = useProcesses();

test("a worker tells on METRICS_PORT what it does and whether it can: its jobs, its outside calls, its pool, and the database's end", async () => {
  const directory = await preparedDirectory();
  const api = await start({ DATA_DIR: directory, ROLE: "api" });
  await api.ready();
  const metricsPort = await unusedPort();
  const worker = await start({ DATA_DIR: directory, ROLE: "worker", METRICS_PORT: String(metricsPort) });
  await worker.ready();
  const url = `http://127.0.0.1:${metricsPort}`;
  const body = { email: "ada@example.com", password: "correct horse battery", displayName: "Ada" };
  expect((await rest(api.url, "POST", "/auth/signup", { body })).status).toBe(201);

  const metrics = async () => (await rest(url, "GET", "/metrics")).text.split("\n");
  const done = [
    'rebid_job_duration_seconds_count{job="sendAccountMail",outcome="done"} 1',
    'rebid_outside_call_duration_seconds_count{part="mail",call="send",outcome="done"} 1',
  ];
  await expect.poll(metrics).toEqual(expect.arrayContaining(done));
  await expect.poll(metrics).toContain('rebid_tasks{status="open"} 0');
  const lines = await metrics();
  for (const name of [
    'rebid_database_pool_connections{pool="jobs"}',
    "rebid_jobs_oldest_due_seconds",
    "rebid_event_log_lag_seconds",
    'rebid_tasks{status="open"}',
    "rebid_statement_duration_seconds_count",
    "nodejs_eventloop_lag_seconds",
  ]) {
    expect(lines.filter((line) => line.startsWith(`${name} `))).toHaveLength(1);
  }
  expect(lines.filter((line) => line.includes('pool="requests"'))).toEqual([]);
  for (const path of ["/livez", "/readyz"]) expect((await rest(url, "GET", path)).body).toEqual({ status: "ok" });

  // It takes the embedded database with it.
  await api.stop();
  await expect.poll(async () => (await rest(url, "GET", "/readyz")).body).toEqual({ status: "database" });
  expect((await rest(url, "GET", "/livez")).status).toBe(200);
  expect(await metrics()).toContain("rebid_database_up 0");
});
