import { pino } from "pino";
import { expect, test } from "vitest";
import { StorageUnavailable } from "../../../server/gateways/storageErrors.ts";
import { storageKeyOf } from "../../../server/market/papers/exports.ts";
import { findDueExports, makeExport } from "../../../server/market/papers/makeExport.ts";
import { pruneExports } from "../../../server/market/papers/pruneExports.ts";
import type { ExportRecord } from "../../../server/schemas/export.ts";
import { LedgerEntry } from "../../../server/schemas/ledgerEntry.ts";
import type { Services } from "../../../server/services.ts";
import { sql } from "../../../server/store/connection.ts";
import { createKey, createPerson, type TestPerson } from "../../factories/people.ts";
import { deliveredTask, postTask } from "../../factories/tasks.ts";
import { rest } from "../../setup/client.ts";
import { clockOf } from "../../setup/testClock.ts";
import { useService } from "../../setup/testService.ts";

// Without a worker, so that a test says when an export is made.
const service = useService();

async function ask(person: TestPerson, input: object): Promise<string> {
  const { status, body } = await person.post("/exports", input);
  expect([status, body.error, body.export?.status]).toEqual([202, undefined, "pending"]);
  return body.export.id;
}

/** Asks for a file, makes it and downloads it. */
async function take(person: TestPerson, input: object): Promise<{ text: string; export: ExportRecord }> {
  const id = await ask(person, input);
  await makeExport(service.services, { exportId: id });
  const made = (await person.get(`/exports/${id}`)).body.export;
  const response = await fetch(made.downloadUrl);
  expect(response.status).toBe(200);
  const text = await response.text();
  expect([made.status, made.bytes]).toEqual(["ready", Buffer.byteLength(text)]);
  expect(response.headers.get("content-disposition")).toContain(`filename="${made.fileName}"`);
  return { text, export: made };
}

const rowsOf = (csv: string) =>
  csv
    .trimEnd()
    .split("\r\n")
    .map((line) => line.split(","));
const thisMonth = () => new Date().toISOString().slice(0, 7);
const inDays = (days: number): Services => ({
  ...service.services,
  clock: clockOf(() => new Date(Date.now() + days * 86_400_000)),
});
const isStored = async (id: string) => (await service.services.storage.head(storageKeyOf(id))) !== null;

test("the ledger's file has every entry of the API, as CSV and as JSON", async () => {
  const [buyer, bidder] = [await createPerson(service, { cents: 50_000 }), await createPerson(service)];
  const { task } = await deliveredTask(buyer, bidder);
  await buyer.post(`/tasks/${task.id}/accept`);
  const { entries } = (await buyer.get("/wallet/ledger")).body;
  const listed = entries.map((entry: object) => LedgerEntry.parse(entry));
  expect(JSON.parse((await take(buyer, { kind: "ledger", format: "json" })).text)).toEqual({ entries: listed });
  const [header, ...rows] = rowsOf((await take(buyer, { kind: "ledger", format: "csv" })).text);
  expect(header).toEqual(Object.keys(listed[0]));
  expect(rows).toEqual(listed.map((entry: object) => Object.values(entry).map((value) => String(value ?? ""))));
});

test("a statement's CSV and JSON have the numbers of the month in the API", async () => {
  const buyer = await createPerson(service, { cents: 50_000 });
  await postTask(buyer);
  const [listed] = (await buyer.get("/wallet/statements")).body.statements;
  const month = listed.month;
  expect(JSON.parse((await take(buyer, { kind: "statement", month, format: "json" })).text)).toEqual(listed);
  const { text, export: made } = await take(buyer, { kind: "statement", month, format: "csv" });
  expect(made.fileName).toBe(`statement-${month}.csv`);
  expect(rowsOf(text)).toEqual([
    ["month", "line", "kind", "bucket", "amountCents"],
    [month, "opening", "", "available", String(listed.opening.availableCents)],
    [month, "opening", "", "held", String(listed.opening.heldCents)],
    ...listed.sums.map((sum: Record<string, string>) => [
      ...[month, "sum", sum.kind, sum.bucket, String(sum.amountCents)],
    ]),
    [month, "closing", "", "available", String(listed.closing.availableCents)],
    [month, "closing", "", "held", String(listed.closing.heldCents)],
    [month, "fee", "", "", "0"],
    [month, "feeTax", "", "", "0"],
  ]);
});

test("the whole account is for sessions only: no key asks for it, sees it or downloads it", async () => {
  const person = await createPerson(service);
  await postTask(await createPerson(service, { cents: 50_000 }));
  const { text, export: made } = await take(person, { kind: "account", format: "json" });
  const { exportedAt: _, ...parts } = (await person.get("/auth/export")).body;
  expect(JSON.parse(text)).toMatchObject({
    ...parts,
    exports: expect.any(Array),
    notifications: expect.anything(),
    sessions: expect.anything(),
  });
  const bearer = { credentials: await createKey(service.url, person.session, []) };
  const asked = await rest(service.url, "POST", "/exports", { ...bearer, body: { kind: "account", format: "json" } });
  expect([asked.status, asked.body.error]).toEqual([403, "forbidden"]);
  expect((await rest(service.url, "GET", `/exports/${made.id}`, bearer)).status).toBe(404);
  expect((await rest(service.url, "GET", "/exports", bearer)).body.exports).toEqual([]);
  const own = await rest(service.url, "POST", "/exports", { ...bearer, body: { kind: "ledger", format: "csv" } });
  expect([own.status, (await person.get("/exports")).body.exports.length]).toEqual([202, 2]);
});

test.each([
  [{ kind: "ledger", format: "pdf" }, "format"],
  [{ kind: "account", format: "csv" }, "format"],
  [{ kind: "ledger", format: "csv", month: "2026-11" }, "month"],
  [{ kind: "statement", format: "csv" }, "month"],
  [{ kind: "statement", format: "csv", month: "2026-13" }, "month"],
  [{ kind: "wallet", format: "csv" }, "kind"],
])("what does not fit together is refused by name: %j", async (input, path) => {
  const { status, body } = await (await createPerson(service)).post("/exports", input);
  expect([status, body.error, body.issues.map((issue: { path: string }) => issue.path)]).toEqual([
    400,
    "invalid_input",
    [path],
  ]);
});

test("a month that a wallet does not have is not found", async () => {
  const person = await createPerson(service, { cents: 100 });
  for (const month of ["1000-01", "2999-12"]) {
    expect((await person.post("/exports", { kind: "statement", format: "csv", month })).status).toBe(404);
  }
  const { status } = await (await createPerson(service)).post("/exports", {
    ...{ kind: "statement", format: "csv", month: thisMonth() },
  });
  expect(status).toBe(404);
});

test("five may be unfinished, of twenty that are asked for at once", async () => {
  const person = await createPerson(service);
  const asked = await Promise.all(
    Array.from({ length: 20 }, () => person.post("/exports", { kind: "ledger", format: "csv" })),
  );
  const answers = asked.map(({ status, body }) => [status, body.error, body.limit]);
  expect(answers.filter(([status]) => status === 202)).toHaveLength(5);
  expect(answers.filter(([status]) => status !== 202)).toEqual(Array(15).fill([409, "limit_reached", 5]));
  const [first] = (await person.get("/exports")).body.exports;
  await makeExport(service.services, { exportId: first.id });
  await ask(person, { kind: "ledger", format: "csv" });
});

test("a file is made once by jobs that run at the same time, and told once", async () => {
  const person = await createPerson(service, { cents: 100 });
  const id = await ask(person, { kind: "ledger", format: "csv" });
  await Promise.all(Array.from({ length: 5 }, () => makeExport(service.services, { exportId: id })));
  const { events } = (await person.get("/events?types=export.ready")).body;
  expect(events.map(({ data }: { data: unknown }) => data)).toEqual([
    { export: { ...(await person.get("/exports")).body.exports[0] } },
  ]);
});

test("a lost job, and one whose storage fails, is made up for; after five attempts it is failed", async () => {
  const person = await createPerson(service, { cents: 100 });
  const [lost, hopeless] = [
    await ask(person, { kind: "ledger", format: "csv" }),
    await ask(person, { kind: "ledger", format: "json" }),
  ];
  const due = await findDueExports(inDays(1), 100);
  expect(due.map(({ exportId }) => exportId)).toEqual(expect.arrayContaining([lost, hopeless]));
  await makeExport(service.services, { exportId: lost });
  const { storage } = service.services;
  const broken = {
    ...service.services,
    log: pino({ level: "silent" }),
    storage: { ...storage, write: () => Promise.reject(new StorageUnavailable("no disk")) },
  };
  const makeDue = sql`UPDATE exports SET due_at = service_now() WHERE id = ${hopeless}::uuid`;
  const states: string[] = [];
  for (let attempt = 1; attempt <= 6; attempt++) {
    await service.services.database.query(makeDue);
    await makeExport(broken, { exportId: hopeless });
    states.push((await person.get(`/exports/${hopeless}`)).body.export.status);
  }
  expect(states).toEqual(["pending", "pending", "pending", "pending", "failed", "failed"]);
  expect((await person.get(`/exports/${lost}`)).body.export.status).toBe("ready");
});

test("after 7 days an export is not found, and its file is deleted before its row", async () => {
  const person = await createPerson(service, { cents: 100 });
  const { export: made } = await take(person, { kind: "ledger", format: "csv" });
  const id = made.id;
  const kept = Date.parse(made.expiresAt) - Date.parse(made.createdAt);
  expect(kept).toBe(7 * 86_400_000);
  await pruneExports(inDays(6.9));
  expect(await isStored(id)).toBe(true);
  const failing = {
    ...inDays(7.1),
    storage: { ...service.services.storage, delete: () => Promise.reject(new Error()) },
  };
  await expect(pruneExports(failing)).rejects.toThrow();
  expect((await person.get(`/exports/${id}`)).status).toBe(200);
  await pruneExports(inDays(7.1));
  expect([await isStored(id), (await person.get(`/exports/${id}`)).status]).toEqual([false, 404]);
});

test("closing the account ends its exports, also one whose file is being made", async () => {
  const person = await createPerson(service);
  const { export: made } = await take(person, { kind: "account", format: "json" });
  const pending = await ask(person, { kind: "ledger", format: "csv" });
  const { storage } = service.services;
  const closing = {
    ...service.services,
    storage: {
      ...storage,
      write: async (...input: Parameters<typeof storage.write>) => {
        await storage.write(...input);
        const closed = await person.delete("/auth/me", { password: person.password });
        expect(closed.status).toBe(204);
      },
    },
  };
  await makeExport(closing, { exportId: pending });
  await pruneExports(inDays(0));
  expect([await isStored(made.id), await isStored(pending)]).toEqual([false, false]);
  const left = await service.services.database.query(sql`SELECT FROM exports WHERE user_id = ${person.id}::uuid`);
  expect(left).toEqual([]);
});

test("a whole account is one document with what its parts have, however large", async () => {
  const person = await createPerson(service, { cents: 500_000 });
  for (let count = 0; count < 14; count++) await postTask(person, { description: "x".repeat(20_000) });
  const parts: Record<string, unknown>[] = [];
  for (let after: unknown = ""; after !== null; after = parts.at(-1)?.nextPart) {
    parts.push(
      (await person.get(`/auth/export${after === "" ? "" : `?after=${encodeURIComponent(`${after}`)}`}`)).body,
    );
  }
  expect(parts.length).toBeGreaterThan(1);
  const { text } = await take(person, { kind: "account", format: "json" });
  const whole: Record<string, unknown> = JSON.parse(text);
  const joined = Object.entries(parts[0] ?? {}).map(([name, value]) => [
    name,
    Array.isArray(value) ? parts.flatMap((part) => part[name]) : value,
  ]);
  // The export itself is newer than its parts.
  const ignored = { exportedAt: "", nextPart: null, exports: [] };
  expect({ ...whole, ...ignored }).toEqual({ ...Object.fromEntries(joined), ...ignored });
});
