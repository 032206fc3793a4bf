import { spawnSync } from "node:child_process";
import { beforeAll, expect, test } from "vitest";
import { BalanceTooLow, ProcessorUnavailable } from "../../server/gateways/processorErrors.ts";
import { outsideCalls } from "../../server/outsideCalls.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { rest } from "../setup/client.ts";
import { useService } from "../setup/testService.ts";

const service = useService();
let person: TestPerson;
let text: string;

beforeAll(async () => {
  person = await createPerson(service);
  await person.get("/tasks");
  await person.get("/tasks?limit=0");
  await person.get(`/tasks/${crypto.randomUUID()}`);
  await person.get("/no/such/path");
  await fetch(`${service.url}/trpc/tasks.list?input=%7B%7D`);
  await fetch(`${service.url}/trpc/tasks.list,tasks.list?batch=1&input=%7B%220%22:%7B%7D,%221%22:%7B%7D%7D`);
  await fetch(`${service.url}/trpc/no.such.procedure`);
  await fetch(`${service.url}/trpc/a%2Cb`);
  text = (await rest(service.url, "GET", "/metrics")).text;
});

const count = (operation: string, status: number) =>
  Number(
    new RegExp(
      `^rebid_http_request_duration_seconds_count\\{operation="${operation}",status="${status}"\\} (\\d+)$`,
      "m",
    ).exec(text)?.[1] ?? 0,
  );

test("requests are timed by operation and status, on both transports", () => {
  expect(count("tasks.list", 200)).toBe(2);
  expect(count("tasks.list", 400)).toBe(1);
  expect(count("tasks.read", 404)).toBe(1);
  expect(count("batch", 200)).toBe(1);
  expect(text).toMatch(
    /^rebid_http_request_duration_seconds_bucket\{le="0\.05",operation="tasks\.list",status="200"\} \d/m,
  );
});

test("nothing that a client chooses becomes a label", () => {
  expect([count("other", 404) >= 2, count("batch", 404) >= 1]).toEqual([true, true]);
  expect(text).not.toMatch(/no\/such|no\.such|a%2Cb|a,b/);
});

test("requests are counted by method and status", () => {
  expect(text).toMatch(/^rebid_http_requests_total\{method="GET",status="404"\} 4$/m);
});

test("there are figures of the connection pool and of the process", () => {
  for (const name of [
    'rebid_database_pool_connections{pool="requests"}',
    'rebid_database_pool_idle{pool="requests"}',
    'rebid_database_pool_waiting{pool="requests"}',
    "process_cpu_seconds_total",
    "process_resident_memory_bytes",
    "nodejs_eventloop_lag_seconds",
    "nodejs_heap_size_used_bytes",
  ]) {
    expect(text).toMatch(new RegExp(`^${name} [\\d.e+-]+$`, "m"));
  }
});

test("before the first audit, its time is that of the installation, so that an alert fires if there never is one", () => {
  const at = Number(/^rebid_ledger_audit_timestamp_seconds ([\d.]+)$/m.exec(text)?.[1]);
  expect(at).toBeGreaterThan(Date.now() / 1_000 - 86_400);
  expect(at).toBeLessThan(Date.now() / 1_000);
  expect(text).not.toContain("rebid_ledger_audit_complete");
});

test("a refusal by the payment processor is counted as one, and not as a failure of it", async () => {
  const { transfer, read } = outsideCalls("testPart", {
    transfer: () => Promise.reject(new BalanceTooLow("balance_insufficient", "Not enough.")),
    read: () => Promise.reject(new ProcessorUnavailable("No answer.")),
  });
  await expect(transfer()).rejects.toThrow("Not enough.");
  await expect(read()).rejects.toThrow("No answer.");
  const { text } = await rest(service.url, "GET", "/metrics");
  const outcomes = text.matchAll(/duration_seconds_count\{part="testPart",call="(\w+)",outcome="(\w+)"\}/g);
  expect([...outcomes].map(([, call, outcome]) => `${call} ${outcome}`)).toEqual(["transfer refused", "read failed"]);
});

test("every figure is described, and appears once", () => {
  const names = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name);
  expect(new Set(names).size).toBe(names.length);
  for (const name of names) expect(text).toMatch(new RegExp(`^# HELP ${name} \\S`, "m"));
});

test("tasks by status and money by state are there soon after the first scrape, which does not wait for them", async () => {
  const scrape = async () => (await rest(service.url, "GET", "/metrics")).text;
  await expect.poll(scrape).toContain("rebid_money_cents");
  const text = await scrape();
  for (const status of ["open", "awarded", "expired"])
    expect(text).toMatch(new RegExp(`^rebid_tasks\\{status="${status}"\\} 0$`, "m"));
  for (const state of ["available", "held", "debt", "payout"]) {
    expect(text).toMatch(new RegExp(`^rebid_money_cents\\{state="${state}"\\} 0$`, "m"));
  }
});

test("while all connections are in use, the figures of the process still come, before whoever waits has given up", async () => {
  const { pool } = service.services.database;
  const taken = await Promise.all(Array.from({ length: pool.options.max ?? 0 }, () => pool.connect()));
  const waiting = pool.connect().then(
    (client) => client.release(),
    () => undefined,
  );
  const headers = { "X-Prometheus-Scrape-Timeout-Seconds": "1" };
  const scraped = await Promise.race([rest(service.url, "GET", "/metrics", { headers }), waiting]);
  for (const client of taken) client.release();
  await waiting;
  expect(scraped?.text).toMatch(/^rebid_database_up 0$/m);
  expect(scraped?.text).toMatch(/^rebid_database_pool_waiting\{pool="requests"\} [12]$/m);
  expect((await rest(service.url, "GET", "/metrics")).text).toMatch(/^rebid_database_up 1$/m);
});

/** Debian's package `prometheus` has it. CI installs it. */
const hasPromtool = spawnSync("promtool", ["--version"]).error === undefined;

test.skipIf(!hasPromtool)("promtool finds nothing to complain about", () => {
  const { status, stdout, stderr } = spawnSync("promtool", ["check", "metrics"], { input: text, encoding: "utf8" });
  expect([status, stdout, stderr]).toEqual([0, "", ""]);
});
