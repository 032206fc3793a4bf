import pg from "pg";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createBodyCache } from "../../server/webhooks/bodyCache.ts";
import { createModerator } from "../factories/moderators.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { awardedTask, placeBid, postTask, upload } from "../factories/tasks.ts";
import type { Answer } from "../setup/client.ts";
import { useService } from "../setup/testService.ts";

const service = useService();
/** What a client should have to expect of one answer, in bytes. */
const MAX_ANSWER_BYTES = 1_000_000;

/** Four bytes a character, and two UTF-16 code units. */
const owls = (count: number) => "🦉".repeat(count);
/** Six bytes a character in JSON, which is the most that there is. */
const controls = (count: number) => "\u0001".repeat(count);

let client: pg.Client;
let buyer: TestPerson;
let bidder: TestPerson;
let stranger: TestPerson;
let moderator: TestPerson;

beforeAll(async () => {
  client = new pg.Client({ connectionString: service.ownerUrl });
  await client.connect();
  buyer = await createPerson(service, { cents: 10_000_000 });
  bidder = await createPerson(service);
  stranger = await createPerson(service);
  moderator = await createModerator(service);
  await client.query("UPDATE users SET display_name = $1", [owls(80)]);
});

afterAll(() => client?.end());

const bytesOf = (answer: Answer) => Buffer.byteLength(answer.text);
const idsOf = (rows: { id: string }[]) => rows.map(({ id }) => id);

const isStatement = (argument: unknown): argument is pg.QueryConfig =>
  typeof argument === "object" && argument !== null && "text" in argument;

/** Returns the statements that a GET sends to the database. */
async function statementsOf(person: TestPerson, path: string): Promise<pg.QueryConfig[]> {
  const query = vi.spyOn(pg.Client.prototype, "query");
  expect((await person.get(path)).status).toBe(200);
  const sent: unknown[] = query.mock.calls.flat();
  query.mockRestore();
  return sent.filter(isStatement);
}

/** Writes bids on a task, each a second older than the one before. Returns their ids. */
async function writeBids(taskId: string, bidderId: string, status: string, count = 1, notes = controls(5_000)) {
  const { rows } = await client.query<{ id: string }>(
    `INSERT INTO bids (task_id, bidder_id, price_cents, eta_hours, notes, status, created_at)
     SELECT $1, $2, 1000, 24, $3, $4, clock_timestamp() - n * interval '1 second' FROM generate_series(1, $5) n
     RETURNING id`,
    [taskId, bidderId, notes, status, count],
  );
  return idsOf(rows);
}

/** Writes a hundred resolved disputes in which every text is as long as it may be. */
async function writeDisputes(): Promise<void> {
  const tags = Array.from({ length: 20 }, (_, index) => `${String(index).padStart(2)}${owls(38)}`);
  await client.query(
    `INSERT INTO tasks (buyer_id, title, description, acceptance_criteria, max_budget_cents, tags, created_at)
     SELECT $1, $2, $3, $4, 1000, $5, clock_timestamp() - n * interval '1 day' FROM generate_series(1, 100) n`,
    [buyer.id, owls(200), controls(20_000), controls(10_000), tags],
  );
  const longest = "tasks WHERE title = $1";
  const title = owls(200);
  await client.query(
    `INSERT INTO bids (task_id, bidder_id, price_cents, eta_hours, notes, status, created_at)
     SELECT id, $2, 1000, 24, $3, 'awarded', created_at FROM ${longest}`,
    [title, bidder.id, controls(5_000)],
  );
  await client.query(
    `UPDATE tasks SET status = 'resolved', awarded_bidder_id = $2, awarded_at = created_at, closed_at = created_at,
            awarded_bid_id = (SELECT b.id FROM bids b WHERE b.task_id = tasks.id)
     WHERE title = $1`,
    [title, bidder.id],
  );
  await client.query(
    `INSERT INTO disputes (task_id, opened_by, reason, note, status, resolution, buyer_cents, bidder_cents, resolved_at, created_at)
     SELECT id, 'buyer', $2, $2, 'resolved', 'refund', 1000, 0, now(), created_at FROM ${longest}`,
    [title, controls(2_000)],
  );
}

describe("a bid with long notes", () => {
  let taskId: string;
  let longId: string;
  let shortId: string;

  beforeAll(async () => {
    taskId = (await postTask(buyer)).id;
    const long = await placeBid(bidder, taskId, { notes: owls(5_000) });
    expect(long.notes).toBe(owls(5_000));
    longId = long.id;
    shortId = (await placeBid(stranger, taskId, { notes: owls(500) })).id;
  });

  test("has the first 500 characters in lists and in the task's detail, and says so", async () => {
    const lists = [
      (await buyer.get(`/tasks/${taskId}`)).body.bids,
      (await buyer.get(`/tasks/${taskId}/bids`)).body.bids,
      [...(await bidder.get("/bids")).body.bids, ...(await stranger.get("/bids")).body.bids],
    ];
    for (const bids of lists) {
      const find = (id: string) => bids.find((bid: { id: string }) => bid.id === id);
      expect(find(longId)).toMatchObject({ notes: owls(500), notesTruncated: true });
      expect(find(shortId).notes).toBe(owls(500));
      expect(find(shortId)).not.toHaveProperty("notesTruncated");
    }
  });

  test("has all of them where the bid is read or changed", async () => {
    const { body } = await bidder.get(`/bids/${longId}`);
    expect(body.bid.notes).toBe(owls(5_000));
    expect(body.bid).not.toHaveProperty("notesTruncated");
    expect((await buyer.get(`/bids/${longId}`)).body).toEqual(body);
    expect((await bidder.patch(`/bids/${longId}`, { priceCents: 7_000 })).body.bid.notes).toBe(owls(5_000));
  });

  test("is readable by its owner and the task's buyer only", async () => {
    for (const id of [longId, crypto.randomUUID()]) {
      const answer = await stranger.get(`/bids/${id}`);
      expect([answer.status, answer.body.error]).toEqual([404, "not_found"]);
    }
    expect((await moderator.get(`/bids/${longId}`)).status).toBe(404);
  });
});

describe("a task with a hundred withdrawn bids", () => {
  let taskId: string;

  beforeAll(async () => {
    taskId = (await postTask(buyer)).id;
  });

  test("shows the older active bids first, and fits into a megabyte", async () => {
    const withdrawn = await writeBids(taskId, stranger.id, "withdrawn", 101);
    const { rows } = await client.query<{ at: string }>(
      "SELECT min(created_at) - interval '1 hour' AS at FROM bids WHERE task_id = $1",
      [taskId],
    );
    const [rival] = await writeBids(taskId, bidder.id, "active");
    await client.query("UPDATE bids SET created_at = $2 WHERE id = $1", [rival, rows[0]?.at]);

    const detail = await buyer.get(`/tasks/${taskId}`);
    expect(idsOf(detail.body.bids)).toEqual([rival, ...withdrawn.slice(0, 99)]);
    expect(bytesOf(detail)).toBeLessThan(MAX_ANSWER_BYTES);
    expect(idsOf((await stranger.get(`/tasks/${taskId}`)).body.bids)).toEqual(withdrawn.slice(0, 100));

    await client.query("UPDATE bids SET status = 'awarded' WHERE id = $1", [rival]);
    expect((await buyer.get(`/tasks/${taskId}`)).body.bids[0].id).toBe(rival);
    const pages = [`/tasks/${taskId}/bids?limit=100`, "/bids?limit=100"];
    for (const page of await Promise.all(pages.map((path) => stranger.get(path)))) {
      expect(page.body.bids).toHaveLength(100);
      expect(bytesOf(page)).toBeLessThan(MAX_ANSWER_BYTES);
    }
  });

  test("reads no more rows than it shows, whoever asks", async () => {
    await writeBids(taskId, moderator.id, "withdrawn", 5_000, "short");
    await client.query("ANALYZE bids");
    const sent = [];
    for (const person of [buyer, stranger]) sent.push(...(await statementsOf(person, `/tasks/${taskId}`)));
    const statements = sent.filter(({ text }) => /FROM bids b JOIN users/.test(text));
    // A party's detail is read again, in a snapshot with what only the two sides see.
    expect(statements).toHaveLength(3);
    for (const { text, values = [] } of statements) {
      // As a connection that has prepared the statement runs it: planned once for all values.
      await client.query("SET plan_cache_mode = force_generic_plan");
      await client.query(`PREPARE detail AS ${text}`);
      const literals = values.map((value) => client.escapeLiteral(String(value)));
      const { rows } = await client.query(`EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE detail (${literals})`);
      await client.query("DEALLOCATE detail; RESET plan_cache_mode");
      const plan = JSON.stringify(rows[0]["QUERY PLAN"][0].Plan);
      expect(plan).toMatch(/bids_task_(live|bidder)_idx/);
      const rowsRead = [...plan.matchAll(/"(?:Actual Rows|Rows Removed by Filter)":([\d.]+)/g)];
      expect(Math.max(...rowsRead.map(([, count]) => Number(count)))).toBeLessThanOrEqual(100);
    }
  });
});

describe("a page of a hundred", () => {
  beforeAll(writeDisputes);

  const disputeFields = [
    "id",
    "taskId",
    "openedBy",
    "reason",
    "status",
    "resolution",
    "buyerCents",
    "bidderCents",
    "note",
  ];

  test("disputes with the longest texts is complete and fits into a megabyte", async () => {
    const presign = vi.spyOn(service.services.storage, "presignDownload");
    for (const person of [moderator, buyer]) {
      const page = await person.get("/disputes?limit=100");
      expect(page.body.disputes).toHaveLength(100);
      expect(page.body.nextCursor).toBe(page.body.disputes.at(-1).createdAt);
      expect(bytesOf(page)).toBeLessThan(MAX_ANSWER_BYTES);
      expect(page.text).not.toContain("downloadUrl");
      for (const dispute of page.body.disputes) {
        expect(Object.keys(dispute)).toEqual(expect.arrayContaining(disputeFields));
        expect(dispute).toMatchObject({ reasonTruncated: true, noteTruncated: true, buyer: { id: buyer.id } });
        expect([dispute.reason, dispute.note]).toEqual([controls(500), controls(500)]);
      }
    }
    expect(presign).not.toHaveBeenCalled();
    presign.mockRestore();
    const [{ id }] = (await moderator.get("/disputes?limit=1")).body.disputes;
    const { dispute, task, bid } = (await buyer.get(`/disputes/${id}`)).body;
    expect([dispute.reason, dispute.note]).toEqual([controls(2_000), controls(2_000)]);
    expect([task.description, task.acceptanceCriteria, bid.notes]).toEqual(
      [20_000, 10_000, 5_000].map((length) => controls(length)),
    );
  });

  test("disputes is read from the caller's own tasks, however many disputes others have", async () => {
    await client.query("ANALYZE tasks, disputes");
    const statements = await statementsOf(stranger, "/disputes");
    const page = statements.find(({ text }) => /FROM disputes d/.test(text));
    const { rows } = await client.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${page?.text}`, page?.values);
    const plan = JSON.stringify(rows[0]["QUERY PLAN"][0].Plan);
    expect(plan).toContain("tasks_buyer_disputed_idx");
    expect(plan).toContain("tasks_bidder_disputed_idx");
    expect(plan).not.toMatch(/"Rows Removed by Filter":[1-9]/);
  });

  test("own tasks has list items with the money and the time at stake, and fits into a megabyte", async () => {
    for (const [person, role] of [
      [buyer, "buyer"],
      [bidder, "bidder"],
    ] as const) {
      const page = await person.get(`/me/tasks?limit=100&role=${role}`);
      expect(page.body.tasks).toHaveLength(100);
      expect(bytesOf(page)).toBeLessThan(MAX_ANSWER_BYTES);
      const listed = ["bidCount", "createdAt", "id", "maxBudgetCents", "status", "tags", "title"];
      const fields = [
        ...listed,
        ...["acceptanceDeadlineAt", "deliveredAt", "deliveryDueAt", "priceCents", "proposalExpiresAt"],
      ].toSorted();
      for (const task of page.body.tasks) expect(Object.keys(task).toSorted()).toEqual(fields);
    }
  });

  test("own bids fits into a megabyte", async () => {
    const page = await bidder.get("/bids?limit=100");
    expect(page.body.bids).toHaveLength(100);
    expect(bytesOf(page)).toBeLessThan(MAX_ANSWER_BYTES);
  });
});

test("a page of a hundred webhook deliveries fits into a megabyte, also if an earlier release kept more attempts", async () => {
  const endpoint = { url: "https://93.184.216.34/", events: ["task.created"] };
  const { id } = (await buyer.post("/webhooks", endpoint)).body;
  await postTask(buyer);
  // The longest explanation that there is, and a hundred attempts, numbered by their duration.
  await client.query(
    `INSERT INTO webhook_deliveries (endpoint_id, event_id, event_type, status, attempts_left, attempts, due_at, failed_at, created_at)
     SELECT $1, e.id, 'task.created', 'failed', 0, a.attempts, now(), now(), now() - n * interval '1 second'
     FROM generate_series(1, 100) AS n, (SELECT id FROM events LIMIT 1) AS e,
          (SELECT jsonb_agg(jsonb_build_object('attemptedAt', '2026-11-20T12:00:00.000000Z', 'statusCode', null,
                  'durationMs', 10000 + m, 'error', 'The connection was closed before the response was complete.') ORDER BY m) AS attempts
           FROM generate_series(1, 100) AS m) AS a`,
    [id],
  );
  const page = await buyer.get(`/webhooks/${id}/deliveries?limit=100`);
  expect(page.body.deliveries).toHaveLength(100);
  expect(bytesOf(page)).toBeLessThan(MAX_ANSWER_BYTES / 2);
  const latest = Array.from({ length: 20 }, (_, index) => 10_081 + index);
  for (const { attempts } of page.body.deliveries)
    expect(attempts.map((attempt: { durationMs: number }) => attempt.durationMs)).toEqual(latest);
});

test("a detail signs the addresses of the files that it shows, and each works", async () => {
  const { task, bid } = await awardedTask(buyer, bidder);
  for (const content of ["first", "second"]) {
    const storageKey = await upload(bidder, bid.id, "sample", content);
    expect((await bidder.post(`/bids/${bid.id}/sample/finalize`, { storageKey })).status).toBe(201);
  }
  const presign = vi.spyOn(service.services.storage, "presignDownload");
  await stranger.get(`/tasks/${task.id}`);
  expect(presign).not.toHaveBeenCalled();
  const { samples } = (await buyer.get(`/tasks/${task.id}`)).body;
  expect(presign).toHaveBeenCalledTimes(2);
  presign.mockRestore();
  const links: string[] = samples.map((sample: { downloadUrl: string }) => sample.downloadUrl);
  expect(links.map((link) => new URL(link).searchParams.get("X-Amz-Expires"))).toEqual(["900", "900"]);
  expect(await Promise.all(links.map(async (link) => (await fetch(link)).text()))).toEqual(["first", "second"]);
});

describe("an event", () => {
  const readBody = async (id: string) => {
    const bodies = await createBodyCache(service.services.database).load([id]);
    return JSON.parse(String(bodies.get(id)?.body));
  };

  test("keeps the first 500 characters of each text, and the same ones after the records have changed", async () => {
    const texts = { description: owls(20_000), acceptanceCriteria: owls(10_000) };
    const task = await postTask(buyer, texts);
    expect([task.description, task.acceptanceCriteria]).toEqual(Object.values(texts));
    await buyer.patch(`/tasks/${task.id}`, { description: "Another text." });
    const bid = await placeBid(bidder, task.id, { notes: owls(5_000) });
    await buyer.post(`/tasks/${task.id}/award`, { bidId: bid.id });
    const storageKey = await upload(bidder, bid.id, "delivery");
    await bidder.post(`/bids/${bid.id}/delivery/finalize`, { storageKey });
    const { dispute } = (await buyer.post(`/tasks/${task.id}/dispute`, { reason: owls(2_000) })).body;
    expect(dispute.reason).toBe(owls(2_000));
    const decision = { resolution: "refund", note: owls(2_000) };
    expect((await moderator.post(`/disputes/${dispute.id}/resolve`, decision)).body.dispute.note).toBe(owls(2_000));

    const { rows } = await client.query<{ id: string; type: string; bytes: number }>(
      "SELECT id, type, octet_length(data::text) AS bytes FROM events WHERE task_id = $1 ORDER BY id",
      [task.id],
    );
    const types = ["task.created", "task.updated", "bid.received", "task.awarded", "delivery.posted", "task.disputed"];
    expect(rows.map(({ type }) => type)).toEqual([...types, "task.dispute_resolved"]);
    for (const { bytes } of rows) expect(bytes).toBeLessThan(15_000);
    const [created, updated, ...later] = await Promise.all(rows.map(({ id }) => readBody(id)));
    expect(created.data.task).toMatchObject({
      ...{ id: task.id, description: owls(500), descriptionTruncated: true },
      ...{ acceptanceCriteria: owls(500), acceptanceCriteriaTruncated: true },
    });
    expect(updated.data.task.description).toBe("Another text.");
    for (const { data } of later) {
      expect(data.task.description).toBe("Another text.");
      expect(data.task).not.toHaveProperty("descriptionTruncated");
      expect(data.bid).toMatchObject({ id: bid.id, notes: owls(500), notesTruncated: true });
    }
    const reason = { reason: owls(500), reasonTruncated: true };
    expect(later.at(-1).data.dispute).toMatchObject({ ...reason, note: owls(500), noteTruncated: true });
  });

  test("that was recorded with whole texts is still sent as it was", async () => {
    const data = { task: { description: owls(20_000) } };
    const { rows } = await client.query<{ id: string }>(
      "INSERT INTO events (type, recipients, data, fanned_out_at) VALUES ('task.created', '{}', $1, now()) RETURNING id",
      [JSON.stringify(data)],
    );
    expect(await readBody(rows[0]?.id ?? "")).toMatchObject({ type: "task.created", data });
  });
});
