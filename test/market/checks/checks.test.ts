import { beforeAll, expect, test } from "vitest";
import { databaseChecks } from "../../../server/audit/checks.ts";
import { acceptsAtOf } from "../../../server/market/checks/acceptance.ts";
import { checkDelivery, findUnchecked } from "../../../server/market/checks/checkDelivery.ts";
import { acceptDelivery, findDueDeliveries } from "../../../server/market/tasks/acceptDelivery.ts";
import { sql } from "../../../server/store/connection.ts";
import { approve } from "../../approvals/agents.ts";
import {
  awardedWithChecks,
  deliverJudged,
  externalCheck,
  type ReportingKey,
  report,
  reportingKey,
  sizeCheck,
} from "../../factories/checks.ts";
import { hostileContents, zipListing } from "../../factories/hostileContents.ts";
import { createModerator } from "../../factories/moderators.ts";
import { createPerson, type TestPerson } from "../../factories/people.ts";
import { changesReason, disputeReason, placeBid, postTask, taskInput, upload } from "../../factories/tasks.ts";
import { rest } from "../../setup/client.ts";
import { clockOf } from "../../setup/testClock.ts";
import { useService } from "../../setup/testService.ts";

const service = useService();
let [buyer, bidder, stranger]: TestPerson[] = [];
let people: { buyer: TestPerson; bidder: TestPerson; stranger: TestPerson };
let key: ReportingKey;
beforeAll(async () => {
  [buyer, bidder, stranger] = await Promise.all([
    createPerson(service, { cents: 10_000_000 }),
    createPerson(service),
    createPerson(service),
  ]);
  people = { buyer, bidder, stranger };
  key = await reportingKey(service, buyer);
});

const inMinutes = (minutes: number) => ({
  ...service.services,
  clock: clockOf(() => new Date(service.clock.now().getTime() + minutes * 60_000)),
});
const taskOf = async (id: string, as = people.buyer) => (await as.get(`/tasks/${id}`)).body.task;
const resultsOf = async (taskId: string, as = people.buyer) =>
  (await as.get(`/tasks/${taskId}`)).body.deliveries[0].checks;
const eventsOf = async (taskId: string) =>
  (
    await service.services.database.query<{ type: string }>(
      sql`SELECT type FROM events WHERE task_id = ${taskId}::uuid ORDER BY created_at, id`,
    )
  ).map(({ type }) => type);

test("whoever bids sees how the work will be judged, and nobody but the buyer which key reports", async () => {
  const checks = [sizeCheck, externalCheck(key.id, { hidden: true })];
  const { body } = await people.buyer.post("/tasks", taskInput({ checks, acceptOnChecks: { afterMinutes: 60 } }));
  expect(body.task).toMatchObject({ checks, acceptOnChecks: { afterMinutes: 60 } });
  const { keyId: _, ...withoutKey } = externalCheck(key.id, { hidden: true });
  expect(await taskOf(body.task.id)).toMatchObject({ checks });
  const seen = await taskOf(body.task.id, people.stranger);
  expect(seen).toMatchObject({ checks: [sizeCheck, withoutKey], acceptOnChecks: { afterMinutes: 60 } });
  expect(JSON.stringify(seen)).not.toContain(key.id);
  expect(seen).not.toHaveProperty("acceptsAt");
  expect((await rest(service.url, "GET", `/tasks/${body.task.id}`)).body.task).not.toHaveProperty("checks");
  const events = await service.services.database.query(
    sql`SELECT data FROM events WHERE task_id = ${body.task.id}::uuid`,
  );
  expect(JSON.stringify(events)).not.toContain(key.id);
});

test.each<[string, object, string]>([
  ["names twice", { checks: [sizeCheck, sizeCheck] }, "checks"],
  ["more than ten", { checks: Array.from({ length: 11 }, (_, at) => ({ ...sizeCheck, name: `${at}` })) }, "checks"],
  ["no bound", { checks: [{ name: "A", required: true, kind: "size" }] }, "checks.0"],
  ["bounds that cross", { checks: [{ ...sizeCheck, minBytes: 2_000 }] }, "checks.0"],
  [
    "an expression that is none",
    { checks: [{ name: "A", required: true, kind: "text", matches: "(?=a)" }] },
    "checks.0.matches",
  ],
  [
    "a schema that is none",
    { checks: [{ name: "A", required: true, kind: "json_schema", schema: { type: 1 } }] },
    "checks.0.schema",
  ],
  [
    "a schema of somebody else",
    { checks: [{ name: "A", required: true, kind: "json_schema", schema: { $ref: "https://example.com/s" } }] },
    "checks.0.schema",
  ],
  ["a key of nobody", { checks: [externalCheck(crypto.randomUUID())] }, "checks.0.keyId"],
  [
    "acceptance without a required check",
    { checks: [{ ...sizeCheck, required: false }], acceptOnChecks: { afterMinutes: 0 } },
    "acceptOnChecks",
  ],
  [
    "acceptance after too long",
    { checks: [sizeCheck], acceptOnChecks: { afterMinutes: 2_881 } },
    "acceptOnChecks.afterMinutes",
  ],
])("checks with %s are refused, and nothing is posted", async (_name, terms: object, path) => {
  const { status, body } = await people.buyer.post("/tasks", taskInput({ ...terms }));
  expect([status, body.error, body.issues?.[0].path]).toEqual([400, "invalid_input", path]);
});

test("a key that cannot report, has ended or is somebody else's is no key of a check", async () => {
  const others = await reportingKey(service, people.stranger);
  const without = await reportingKey(service, people.buyer, { scopes: ["task:write"] });
  const ended = await reportingKey(service, people.buyer);
  await people.buyer.delete(`/keys/${ended.id}`);
  for (const { id } of [others, without, ended]) {
    const { status, body } = await people.buyer.post("/tasks", taskInput({ checks: [externalCheck(id)] }));
    expect([status, body.issues[0].path]).toEqual([400, "checks.0.keyId"]);
  }
});

test("checks change until the first bid, and not after it", async () => {
  const task = await postTask(people.buyer, { checks: [sizeCheck], acceptOnChecks: { afterMinutes: 5 } });
  const changed = await people.buyer.patch(`/tasks/${task.id}`, { checks: [{ ...sizeCheck, maxBytes: 5 }] });
  expect(changed.body.task.checks[0].maxBytes).toBe(5);
  const none = await people.buyer.patch(`/tasks/${task.id}`, { checks: [] });
  expect([none.status, none.body.issues[0].path]).toEqual([400, "acceptOnChecks"]);
  const bid = await placeBid(people.bidder, task.id);
  for (const change of [{ checks: [sizeCheck] }, { acceptOnChecks: null }, { acceptOnChecks: { afterMinutes: 6 } }]) {
    const { status, body } = await people.buyer.patch(`/tasks/${task.id}`, change);
    expect([status, body.error]).toEqual([400, "checks_locked_by_bids"]);
  }
  const same = await people.buyer.patch(`/tasks/${task.id}`, {
    checks: changed.body.task.checks,
    acceptOnChecks: { afterMinutes: 5 },
  });
  expect(same.status).toBe(200);
  await people.bidder.post(`/bids/${bid.id}/withdraw`);
  const freed = await people.buyer.patch(`/tasks/${task.id}`, { checks: [], acceptOnChecks: null });
  expect(freed.body.task).toMatchObject({ checks: [], acceptOnChecks: null });
});

test("the database keeps what is judged as it was at the award", async () => {
  const { task } = await awardedWithChecks(people.buyer, people.bidder, { checks: [sizeCheck] });
  const change = service.services.database.query(sql`UPDATE tasks SET checks = '[]' WHERE id = ${task.id}::uuid`);
  await expect(change).rejects.toThrow(/frozen/);
});

test("a delivery is judged by a job, and accepted in time without anybody doing anything", async () => {
  const { task, bid } = await awardedWithChecks(people.buyer, people.bidder, {
    ...{ checks: [sizeCheck, { name: "Greets", required: false, kind: "text", contains: ["goodbye"] }] },
    acceptOnChecks: { afterMinutes: 30 },
  });
  const delivery = await deliverJudged(service.services, people.bidder, bid.id, { judged: false });
  expect(delivery.checks.map(({ conclusion }: { conclusion: string }) => conclusion)).toEqual(["pending", "pending"]);
  expect(await findUnchecked(service.services, 10, null)).toContainEqual({ deliveryId: delivery.id });
  await Promise.all([1, 2, 3].map(() => checkDelivery(service.services, { deliveryId: delivery.id })));
  expect(await resultsOf(task.id, people.bidder)).toMatchObject([
    { name: "Short", conclusion: "passed", summary: "12 bytes." },
    { name: "Greets", conclusion: "failed", summary: "The text “goodbye” does not occur." },
  ]);
  expect((await eventsOf(task.id)).filter((type) => type === "delivery.checked")).toHaveLength(1);
  expect(await findUnchecked(service.services, 10, null)).not.toContainEqual({ deliveryId: delivery.id });
  const waiting = await taskOf(task.id, people.bidder);
  const accepts = Date.parse(waiting.acceptsAt);
  expect(accepts - Date.parse((await resultsOf(task.id))[0].finishedAt)).toBe(30 * 60_000);
  await acceptDelivery(inMinutes(29), { taskId: task.id });
  expect((await taskOf(task.id)).status).toBe("delivered");
  const due = inMinutes(31);
  expect(await findDueDeliveries(due, 100, null)).toContainEqual({ taskId: task.id });
  await Promise.all([1, 2, 3].map(() => acceptDelivery(due, { taskId: task.id })));
  const accepted = await taskOf(task.id);
  expect(accepted).toMatchObject({ status: "accepted", acceptedBy: "checks", acceptsAt: null });
  expect(Date.parse(accepted.acceptedAt)).toBe(accepts);
  expect((await eventsOf(task.id)).filter((type) => type === "task.accepted")).toHaveLength(1);
});

test("checks that fail, or cannot judge, change nothing but what they say", async () => {
  for (const check of [
    { name: "Tiny", required: true, kind: "size", maxBytes: 1 },
    {
      name: "Loops",
      required: true,
      kind: "json_schema",
      schema: { $ref: "#/$defs/a", $defs: { a: { not: { $ref: "#/$defs/a" } } } },
    },
  ]) {
    const { task, bid } = await awardedWithChecks(people.buyer, people.bidder, {
      ...{ checks: [check], acceptOnChecks: { afterMinutes: 0 } },
    });
    await deliverJudged(service.services, people.bidder, bid.id, { content: "{}" });
    await acceptDelivery(inMinutes(60), { taskId: task.id });
    expect(await taskOf(task.id)).toMatchObject({ status: "delivered", acceptsAt: null });
    await acceptDelivery(inMinutes(48 * 60 + 1), { taskId: task.id });
    expect(await taskOf(task.id)).toMatchObject({ status: "accepted", acceptedBy: "clock" });
  }
});

test("checks never accept later than silence does", async () => {
  const moment = new Date("2026-11-25T12:00:00Z");
  const task = {
    status: "delivered" as const,
    ...{ acceptOnChecks: { afterMinutes: 2_880 }, acceptsAt: null },
    acceptanceDeadlineAt: "2026-11-26T12:00:00.000000Z",
  };
  const passed = {
    name: "A",
    kind: "size",
    required: true,
    conclusion: "passed",
    summary: "",
    finishedAt: null,
  } as const;
  const delivery = { checks: [passed], supersededAt: null, changesRequested: false };
  expect(acceptsAtOf(task, delivery, moment)).toBe(task.acceptanceDeadlineAt);
  expect(acceptsAtOf(task, { ...delivery, changesRequested: true }, moment)).toBeNull();
  expect(acceptsAtOf(task, { ...delivery, checks: [passed, { ...passed, conclusion: "error" }] }, moment)).toBeNull();
  expect(acceptsAtOf(task, { ...delivery, checks: [{ ...passed, required: false }] }, moment)).toBeNull();
  expect(acceptsAtOf({ ...task, status: "awarded" }, delivery, moment)).toBeNull();
});

test("a program of the buyer's reports, and its last report counts", async () => {
  const { task, bid } = await awardedWithChecks(people.buyer, people.bidder, {
    ...{ checks: [sizeCheck, externalCheck(key.id)], acceptOnChecks: { afterMinutes: 10 } },
  });
  const delivery = await deliverJudged(service.services, people.bidder, bid.id);
  expect((await taskOf(task.id)).acceptsAt).toBeNull();
  const passed = await report(service, key, delivery.id, {
    summary: "42 of 42",
    detailsUrl: "https://ci.example.com/1",
  });
  expect([passed.status, passed.body.check]).toMatchObject([
    200,
    { name: "Tests", conclusion: "passed", summary: "42 of 42", detailsUrl: "https://ci.example.com/1" },
  ]);
  const { acceptsAt } = await taskOf(task.id);
  expect(acceptsAt).not.toBeNull();
  await report(service, key, delivery.id, { summary: "Again" });
  expect((await taskOf(task.id)).acceptsAt).toBe(acceptsAt);
  await report(service, key, delivery.id, { conclusion: "failed" });
  expect((await taskOf(task.id)).acceptsAt).toBeNull();
  await acceptDelivery(inMinutes(60), { taskId: task.id });
  expect((await taskOf(task.id)).status).toBe("delivered");
  await report(service, key, delivery.id);
  await people.buyer.post(`/tasks/${task.id}/accept`);
  expect(await taskOf(task.id)).toMatchObject({ status: "accepted", acceptedBy: "buyer" });
  const late = await report(service, key, delivery.id, { conclusion: "failed" });
  expect([late.status, late.body.error]).toEqual([409, "wrong_status"]);
});

test("only the key that is named reports, and only about its own check", async () => {
  const { bid } = await awardedWithChecks(people.buyer, people.bidder, { checks: [sizeCheck, externalCheck(key.id)] });
  const delivery = await deliverJudged(service.services, people.bidder, bid.id);
  const [another, strangers] = [
    await reportingKey(service, people.buyer),
    await reportingKey(service, people.stranger),
  ];
  const session = { credentials: people.buyer.session };
  for (const wrong of [another, strangers, session, { credentials: people.bidder.key }]) {
    const { status, body } = await report(service, wrong, delivery.id);
    expect([status, body.error]).toEqual([403, "forbidden"]);
  }
  const unscoped = await reportingKey(service, people.buyer, { scopes: ["task:write"] });
  expect((await report(service, unscoped, delivery.id)).body.error).toBe("missing_scope");
  for (const name of ["Short", "Nothing", "constructor"]) {
    const { status, body } = await report(service, key, delivery.id, { name });
    expect([status, body.issues[0].path]).toEqual([400, "name"]);
  }
  const plain = await report(service, key, delivery.id, { detailsUrl: "http://ci.example.com" });
  expect([plain.status, plain.body.issues[0].path]).toEqual([400, "detailsUrl"]);
  expect((await report(service, key, crypto.randomUUID())).status).toBe(404);
  expect((await report(service, { credentials: {} }, delivery.id)).status).toBe(401);
});

test("the reasons of a hidden check are the buyer's until the task has ended, and the moderator's", async () => {
  const { task, bid } = await awardedWithChecks(people.buyer, people.bidder, {
    checks: [externalCheck(key.id, { hidden: true })],
  });
  const delivery = await deliverJudged(service.services, people.bidder, bid.id);
  await report(service, key, delivery.id, {
    conclusion: "failed",
    summary: "The secret row is missing.",
    detailsUrl: "https://ci.example.com/2",
  });
  const [seen] = await resultsOf(task.id, people.bidder);
  expect(seen).toMatchObject({ conclusion: "failed", summary: null });
  expect(seen).not.toHaveProperty("detailsUrl");
  expect((await resultsOf(task.id))[0].summary).toBe("The secret row is missing.");
  const log = await service.services.database.query(sql`SELECT data FROM events WHERE task_id = ${task.id}::uuid`);
  expect(JSON.stringify(log)).not.toContain("secret row");
  const { body } = await people.bidder.post(`/tasks/${task.id}/dispute`, { reason: disputeReason });
  const moderator = await createModerator(service);
  const summaryFor = async (person: TestPerson) =>
    (await person.get(`/disputes/${body.dispute.id}`)).body.deliveries[0].checks[0].summary;
  expect(await Promise.all([moderator, people.buyer, people.bidder].map(summaryFor))).toEqual([
    "The secret row is missing.",
    "The secret row is missing.",
    null,
  ]);
  await moderator.post(`/disputes/${body.dispute.id}/resolve`, { resolution: "refund" });
  expect(await summaryFor(people.bidder)).toBe("The secret row is missing.");
});

test("a check whose key has ended is an error, until the buyer names another", async () => {
  const ending = await reportingKey(service, people.buyer);
  const { task, bid } = await awardedWithChecks(people.buyer, people.bidder, {
    ...{ checks: [externalCheck(ending.id)], acceptOnChecks: { afterMinutes: 0 } },
  });
  const delivery = await deliverJudged(service.services, people.bidder, bid.id);
  const setKey = (keyId: string, as = people.buyer, name = "Tests") =>
    as.post(`/tasks/${task.id}/checks/key`, { name, keyId });
  expect((await setKey(key.id)).body.error).toBe("wrong_status");
  await people.buyer.delete(`/keys/${ending.id}`);
  expect((await resultsOf(task.id, people.bidder))[0]).toMatchObject({ conclusion: "error", finishedAt: null });
  expect((await report(service, ending, delivery.id)).status).toBe(401);
  expect((await setKey(key.id, people.bidder)).status).toBe(403);
  expect((await setKey(crypto.randomUUID())).body.issues[0].path).toBe("keyId");
  expect((await setKey(key.id, people.buyer, "Nothing")).body.issues[0].path).toBe("name");
  const byKey = { body: { name: "Tests", keyId: key.id }, credentials: people.buyer.key };
  expect((await rest(service.url, "POST", `/tasks/${task.id}/checks/key`, byKey)).body.error).toBe("forbidden");
  expect((await setKey(key.id)).body.task.checks[0].keyId).toBe(key.id);
  expect((await resultsOf(task.id))[0].conclusion).toBe("pending");
  expect((await report(service, key, delivery.id)).status).toBe(200);
  await acceptDelivery(inMinutes(1), { taskId: task.id });
  expect((await taskOf(task.id)).acceptedBy).toBe("checks");
});

test("once changes were requested, checks never accept that delivery, and a new one has its own", async () => {
  const { task, bid } = await awardedWithChecks(people.buyer, people.bidder, {
    ...{ checks: [externalCheck(key.id)], acceptOnChecks: { afterMinutes: 10 }, revisions: 2 },
  });
  const first = await deliverJudged(service.services, people.bidder, bid.id);
  await report(service, key, first.id);
  expect((await taskOf(task.id)).acceptsAt).not.toBeNull();
  await people.buyer.post(`/tasks/${task.id}/request-changes`, { reason: changesReason });
  expect((await report(service, key, first.id)).body.error).toBe("wrong_status");
  await people.bidder.post(`/tasks/${task.id}/decline-changes`, { reason: disputeReason });
  expect((await report(service, key, first.id)).status).toBe(200);
  await acceptDelivery(inMinutes(60), { taskId: task.id });
  expect(await taskOf(task.id)).toMatchObject({ status: "delivered", acceptsAt: null });
  await people.buyer.post(`/tasks/${task.id}/request-changes`, { reason: changesReason });
  const second = await deliverJudged(service.services, people.bidder, bid.id);
  expect((await report(service, key, first.id)).body.error).toBe("wrong_status");
  await report(service, key, second.id);
  await acceptDelivery(inMinutes(60), { taskId: task.id });
  expect((await taskOf(task.id)).acceptedBy).toBe("checks");
});

test("of the buyer, the bidder, the checks and a late report, one wins, and the money goes once", async () => {
  const tasks = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const { task, bid } = await awardedWithChecks(people.buyer, people.bidder, {
        ...{ checks: [externalCheck(key.id)], acceptOnChecks: { afterMinutes: 0 }, revisions: 1 },
      });
      const delivery = await deliverJudged(service.services, people.bidder, bid.id);
      return { taskId: task.id, deliveryId: delivery.id };
    }),
  );
  const later = inMinutes(1);
  for (const { taskId, deliveryId } of tasks) {
    await Promise.all([
      report(service, key, deliveryId).then(() => acceptDelivery(later, { taskId })),
      people.buyer.post(`/tasks/${taskId}/accept`),
      people.bidder.post(`/tasks/${taskId}/dispute`, { reason: disputeReason }),
      people.buyer.post(`/tasks/${taskId}/request-changes`, { reason: changesReason }),
      report(service, key, deliveryId, { conclusion: "failed" }),
      acceptDelivery(later, { taskId }),
    ]);
    const { status } = await taskOf(taskId);
    const types = await eventsOf(taskId);
    const ends = { accepted: "task.accepted", disputed: "task.disputed", awarded: "task.changes_requested" };
    for (const [end, type] of Object.entries(ends)) {
      expect(
        types.filter((one) => one === type),
        `${status} ${types}`,
      ).toHaveLength(status === end ? 1 : 0);
    }
  }
});

const corpus: [string, object, string | Buffer, string][] = [
  ["size", { kind: "size", minBytes: 1, maxBytes: 5 }, "hello", "text/plain"],
  ["a type", { kind: "type", types: ["text/csv"] }, "a,b\n1,2\n", "text/csv"],
  ["another type", { kind: "type", types: ["application/pdf"] }, "%PDF-1.7\n", "application/pdf"],
  ["no image", { kind: "image", minWidth: 1 }, "hello", "text/plain"],
  [
    "a hash",
    { kind: "sha256", sha256: "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" },
    "hello",
    "text/plain",
  ],
  ["an archive", { kind: "archive", paths: ["a", "b"] }, zipListing(["a"]), "application/zip"],
  // Schemas that refer to themselves are refused when they are set.
  ...Object.entries(hostileContents)
    .filter(([name]) => !/refer|recursive/.test(name))
    .map(([name, make]): [string, object, string | Buffer, string] => {
      const { check, content } = make();
      return [name, check, content, "application/octet-stream"];
    }),
];

test.each(corpus)(
  "trying %s before the delivery says what the delivery comes to",
  async (_name, check, content, mimeType) => {
    const checks = [{ name: "Judged", required: true, ...check }, externalCheck(key.id)];
    const { task, bid } = await awardedWithChecks(people.buyer, people.bidder, { checks });
    const bytes = Buffer.from(content);
    const init = await people.bidder.post(`/bids/${bid.id}/delivery/init`, { mimeType, bytes: bytes.length });
    const { uploadUrl, storageKey } = init.body;
    await fetch(uploadUrl, { method: "PUT", headers: { "content-type": mimeType }, body: new Uint8Array(bytes) });
    const tried = await people.bidder.post(`/bids/${bid.id}/delivery/preflight`, { storageKey });
    expect(tried.status, tried.text).toBe(200);
    expect(await eventsOf(task.id)).not.toContain("delivery.posted");
    const { body } = await people.bidder.post(`/bids/${bid.id}/delivery/finalize`, { storageKey });
    await checkDelivery(service.services, { deliveryId: body.delivery.id });
    const timeless = (results: { finishedAt: string | null }[]) =>
      results.map((result) => ({ ...result, finishedAt: null }));
    expect(timeless(tried.body.checks)).toEqual(timeless(await resultsOf(task.id, people.bidder)));
    if (bytes.length > 150_000) return;
    const alone = await people.buyer.post("/tasks/preflight", { checks, mimeType, content: bytes.toString("base64") });
    expect(timeless(alone.body.checks)).toEqual(timeless(tried.body.checks));
  },
);

test("checks are tried before posting only if a task could have them, on a file that is base64, and nothing is kept", async () => {
  const { storage } = service.services;
  const objects = () => storage.list("", "", 1_000);
  const before = await objects();
  const tryOn = (body: object) =>
    people.buyer.post("/tasks/preflight", { mimeType: "text/plain", content: "aGVsbG8=", ...body });
  const pattern = { name: "A", required: true, kind: "text", matches: "^hello$" };
  expect((await tryOn({ checks: [pattern] })).body.checks).toMatchObject([{ name: "A", conclusion: "passed" }]);
  const paths = async (body: object) => (await tryOn(body)).body.issues.map(({ path }: { path: string }) => path);
  expect(await paths({ checks: [{ ...pattern, matches: "(?=a)" }] })).toEqual(["checks.0.matches"]);
  expect(await paths({ checks: [externalCheck(crypto.randomUUID())] })).toEqual(["checks.0.keyId"]);
  expect(await paths({ checks: [pattern], content: "hello" })).toEqual(["content"]);
  expect(await paths({ checks: [pattern], content: "" })).toEqual(["content"]);
  expect(await paths({ checks: [pattern], content: "aaaa".repeat(50_001) })).toEqual(["content"]);
  expect(await objects()).toEqual(before);
});

test("only the awarded bidder tries a file, while the task is awarded, and only one that is uploaded", async () => {
  const { task, bid } = await awardedWithChecks(people.buyer, people.bidder, { checks: [sizeCheck] });
  const storageKey = await upload(people.bidder, bid.id, "delivery");
  const path = `/bids/${bid.id}/delivery/preflight`;
  const tryAs = (person: TestPerson, body: object = { storageKey }) => person.post(path, body);
  expect((await tryAs(people.stranger)).status).toBe(403);
  expect((await tryAs(people.buyer)).status).toBe(403);
  expect((await tryAs(people.bidder, { storageKey: `deliveries/${bid.id}/none` })).body.issues[0].path).toBe(
    "storageKey",
  );
  const init = await people.bidder.post(`/bids/${bid.id}/delivery/init`, { mimeType: "text/plain", bytes: 5 });
  expect((await tryAs(people.bidder, { storageKey: init.body.storageKey })).body.error).toBe("invalid_input");
  expect((await tryAs(people.bidder)).body.checks[0].conclusion).toBe("passed");
  await people.bidder.post(`/bids/${bid.id}/delivery/finalize`, { storageKey });
  expect((await tryAs(people.bidder)).body.error).toBe("wrong_status");
  expect((await people.bidder.post(`/bids/${crypto.randomUUID()}/delivery/preflight`, { storageKey })).status).toBe(
    404,
  );
  expect((await taskOf(task.id)).status).toBe("delivered");
});

test("the audit finds a task that checks have accepted without having passed, and no other", async () => {
  const { task, bid } = await awardedWithChecks(people.buyer, people.bidder, {
    ...{ checks: [sizeCheck], acceptOnChecks: { afterMinutes: 0 } },
  });
  const delivery = await deliverJudged(service.services, people.bidder, bid.id);
  await acceptDelivery(inMinutes(1), { taskId: task.id });
  const name = "each task that checks accepted had all required checks passed, and no change was asked for";
  const find = () => service.services.database.query<{ subject: string }>(databaseChecks[name] ?? sql`SELECT 1/0`);
  expect(await find()).toEqual([]);
  await service.services.database.query(sql`
    UPDATE artifacts SET checks = jsonb_set(checks, '{0,conclusion}', '"failed"') WHERE id = ${delivery.id}::uuid`);
  expect((await find()).map(({ subject }) => subject)).toEqual([`task ${task.id}`]);
});

test("a key that asks its owner about larger amounts asks before a report that pays, and before checks that it sets", async () => {
  const asking = await reportingKey(service, people.buyer, {
    ...{ scopes: ["check:write", "task:write"], approval: { aboveCents: 5_000 } },
  });
  const agreed = { checks: [externalCheck(asking.id)], acceptOnChecks: { afterMinutes: 10 } };
  const { task, bid } = await awardedWithChecks(people.buyer, people.bidder, agreed);
  const delivery = await deliverJudged(service.services, people.bidder, bid.id);
  expect((await report(service, asking, delivery.id, { conclusion: "failed" })).status).toBe(200);
  const asked = await report(service, asking, delivery.id);
  expect(asked.body.error).toBe("approval_required");
  expect((await taskOf(task.id)).acceptsAt).toBeNull();
  const { body } = await approve(people.buyer, asked.body.approval.id);
  expect(body.approval).toMatchObject({ status: "approved", amountCents: 8_000, bidId: bid.id, taskId: task.id });
  expect((await taskOf(task.id)).acceptsAt).toEqual(expect.any(String));
  // It is paid already: to say so again asks nobody.
  expect((await report(service, asking, delivery.id)).status).toBe(200);
  const open = await postTask(people.buyer, { checks: [sizeCheck] });
  const change = { body: { acceptOnChecks: { afterMinutes: 0 } }, credentials: asking.credentials };
  expect((await rest(service.url, "PATCH", `/tasks/${open.id}`, change)).body.error).toBe("approval_required");
  expect((await taskOf(open.id)).acceptOnChecks).toBeNull();
});

test("a report asks too while only built-in checks are open, which nobody can be asked about later, and not before that", async () => {
  const asking = await reportingKey(service, people.buyer, { approval: { aboveCents: 5_000 } });
  const other = await reportingKey(service, people.buyer);
  const checks = [sizeCheck, externalCheck(asking.id), externalCheck(other.id, { name: "Style" })];
  const agreed = { checks, acceptOnChecks: { afterMinutes: 0 } };
  const { task, bid } = await awardedWithChecks(people.buyer, people.bidder, agreed);
  const delivery = await deliverJudged(service.services, people.bidder, bid.id, { judged: false });
  expect((await report(service, asking, delivery.id)).status).toBe(200);
  expect((await report(service, asking, delivery.id, { conclusion: "error" })).status).toBe(200);
  expect((await report(service, other, delivery.id, { name: "Style" })).status).toBe(200);
  expect((await report(service, asking, delivery.id)).body.error).toBe("approval_required");
  await checkDelivery(service.services, { deliveryId: delivery.id });
  expect((await taskOf(task.id)).acceptsAt).toBeNull();
  // Up to its amount, it asks nobody.
  const small = await awardedWithChecks(people.buyer, people.bidder, {
    ...agreed,
    checks: [externalCheck(asking.id)],
    priceCents: 5_000,
  });
  const another = await deliverJudged(service.services, people.bidder, small.bid.id);
  expect((await report(service, asking, another.id)).status).toBe(200);
});
