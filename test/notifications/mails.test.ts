import { readFile } from "node:fs/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { planDigests, sendDigests } from "../../server/notifications/digests.ts";
import { compileTemplate } from "../../server/notifications/mail/compile.ts";
import { remind } from "../../server/notifications/reminders.ts";
import { tendMails } from "../../server/notifications/tend.ts";
import { latestEight } from "../../server/notifications/zones.ts";
import { sql } from "../../server/store/connection.ts";
import { askedIn, createAgent } from "../approvals/agents.ts";
import { createReachable, planMails, sendMails } from "../factories/mails.ts";
import { tellAll } from "../factories/notifications.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import {
  awardedTask,
  changesReason,
  deliver,
  deliveredTask,
  disputeReason,
  placeBid,
  postTask,
  propose,
  taskInput,
} from "../factories/tasks.ts";
import { expectErrorBody } from "../setup/expectError.ts";
import { listMails } from "../setup/mails.ts";
import { clockOf } from "../setup/testClock.ts";
import { useService } from "../setup/testService.ts";

const service = useService({ mailbox: true });
const HOUR_MS = 3_600_000;

/** Everything that is new is told, planned and sent; returns all mails to the person, the oldest first. */
async function mailsOf(person: TestPerson) {
  await tellAll(service);
  await planMails(service, person);
  await sendMails(service, person);
  return (await listMails(service, person.email)).toReversed();
}
const subjectsOf = async (person: TestPerson) => (await mailsOf(person)).map(({ subject }) => subject);

let buyer: TestPerson;
beforeAll(async () => {
  buyer = await createReachable(service, { cents: 1_000_000 });
});

describe("a mail", () => {
  test("says what happened, what to do by when, the amounts and why it came, in HTML and text, with nothing from elsewhere", async () => {
    const [owner, worker] = [await createReachable(service, { cents: 50_000 }), await createReachable(service)];
    await deliveredTask(owner, worker);
    const mails = await mailsOf(owner);
    const mail = mails.find(({ subject }) => subject.includes("was delivered"));
    if (!mail) throw new Error(`no mail about the delivery: ${mails.map(({ subject }) => subject).join()}`);
    expect(mail.subject).toMatch(/^“Translate page \d+” was delivered: accept or dispute by \d+ \w+ \d{4}.* UTC$/);
    for (const part of [mail.text, mail.html]) {
      expect(part).toContain("$80.00");
      expect(part).toContain(`${service.url}/app/tasks/`);
      expect(part).toContain("You get this mail because this task is yours");
      expect(part).toContain("No more mails about deadlines");
    }
    expect(mail.html).not.toMatch(/<img|<link|<script|@import|url\(/i);
    const addresses = [...mail.html.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, address]) => address);
    expect(addresses.length).toBeGreaterThan(1);
    expect(addresses.filter((address) => !address?.startsWith(`${service.url}/`))).toEqual([]);
    expect(mail.headers["list-unsubscribe"]).toMatch(/^<http:\/\/[^>]+\/notifications\/unsubscribe\?token=[\w-]+>$/);
    expect(mail.headers["list-unsubscribe-post"]).toBe("List-Unsubscribe=One-Click");
  });

  test("shows what people write as text, whatever it looks like", async () => {
    const [owner, worker] = [await createReachable(service, { cents: 50_000 }), await createReachable(service)];
    const task = await postTask(owner, { title: "<img src=https://evil.example/x> {{why}} & more" });
    await placeBid(worker, task.id);
    const [mail] = await mailsOf(owner);
    expect(mail?.html).toContain("&lt;img src");
    expect(mail?.html).not.toContain("<img");
    expect(mail?.text).toContain("“<img src=https://evil.example/x> {{why}} & more”");
  });

  test("is compiled from its template as it is now", async () => {
    expect(await readFile("server/notifications/mail/generated/mail.html", "utf8")).toBe(await compileTemplate());
  });

  test("goes to verified addresses only, and nothing that was missed is sent later", async () => {
    const [owner, worker] = [await createPerson(service, { cents: 50_000 }), await createReachable(service)];
    const task = await postTask(owner);
    await placeBid(worker, task.id);
    expect(await subjectsOf(owner)).toEqual([]);
    await service.services.database.query(sql`
      UPDATE users SET email_verified_at = service_now() WHERE id = ${owner.id}::uuid`);
    expect(await subjectsOf(owner)).toEqual([]);
    await worker.post(`/tasks/${task.id}/questions`, { text: "How many words?" });
    expect(await subjectsOf(owner)).toEqual([expect.stringMatching(/^A question about .*: answer it$/)]);
  });

  test("is not sent about what one's own key did", async () => {
    const agent = await createReachable(service, { using: "key" });
    await placeBid(agent, (await postTask(buyer)).id);
    expect(await subjectsOf(agent)).toEqual([]);
  });

  test("is the same one when it is sent again", async () => {
    const [owner, worker] = [await createReachable(service, { cents: 50_000 }), await createReachable(service)];
    await placeBid(worker, (await postTask(owner)).id);
    await mailsOf(owner);
    const { database } = service.services;
    // As after a kill between the mail server's answer and its record.
    await database.query(sql`
      UPDATE notification_mails SET ended_at = NULL, sent = false, leased_until = '-infinity' WHERE user_id = ${owner.id}::uuid`);
    const [first, second, ...others] = await mailsOf(owner);
    expect(others).toEqual([]);
    expect(second?.headers["message-id"]).toBe(first?.headers["message-id"]);
    expect(await subjectsOf(owner)).toHaveLength(2);
  });
});

describe("what is no longer true is not sent", () => {
  /** Tells of what has happened, moves on, and then sends. */
  async function sentAfter(person: TestPerson, type: string, move: () => Promise<unknown>): Promise<string[]> {
    const { database } = service.services;
    await tellAll(service);
    await planMails(service, person);
    await move();
    await sendMails(service, person);
    const rows = await database.query<{ type: string }>(sql`
      SELECT n.type FROM notifications n JOIN notification_mails m ON m.id = n.mail_id
      WHERE n.user_id = ${person.id}::uuid AND m.sent`);
    const planned = await database.query<{ type: string }>(sql`
      SELECT type FROM notifications WHERE user_id = ${person.id}::uuid AND mail_id IS NOT NULL`);
    expect(planned.map((row) => row.type)).toContain(type);
    return rows.map((row) => row.type);
  }
  const pair = async () => [await createReachable(service, { cents: 90_000 }), await createReachable(service)] as const;

  test("a bid that was withdrawn, or whose task went to another", async () => {
    const [owner, worker] = await pair();
    const task = await postTask(owner);
    const bid = await placeBid(worker, task.id);
    const withdraw = () => worker.post(`/bids/${bid.id}/withdraw`);
    expect(await sentAfter(owner, "bid.received", withdraw)).toEqual([]);
    const second = await placeBid(worker, task.id);
    const award = () => owner.post(`/tasks/${task.id}/award`, { bidId: second.id });
    expect(await sentAfter(owner, "bid.received", award)).not.toContain("bid.received");
  });

  test("an award that was delivered, and a delivery that was accepted", async () => {
    const [owner, worker] = await pair();
    const { bid } = await awardedTask(owner, worker);
    expect(await sentAfter(worker, "task.awarded", () => deliver(worker, bid.id))).not.toContain("task.awarded");
    const accept = () => owner.post(`/tasks/${bid.taskId}/accept`);
    expect(await sentAfter(owner, "delivery.posted", accept)).not.toContain("delivery.posted");
  });

  test("changes that were declined, and a delivery that stands again and was disputed", async () => {
    const [owner, worker] = await pair();
    const { task } = await deliveredTask(owner, worker, { revisions: 1 });
    await owner.post(`/tasks/${task.id}/request-changes`, { reason: changesReason });
    const decline = () => worker.post(`/tasks/${task.id}/decline-changes`, { reason: disputeReason });
    expect(await sentAfter(worker, "task.changes_requested", decline)).not.toContain("task.changes_requested");
    const dispute = () => owner.post(`/tasks/${task.id}/dispute`, { reason: disputeReason });
    expect(await sentAfter(owner, "task.changes_declined", dispute)).not.toContain("task.changes_declined");
  });

  test("a question that was answered, a proposal that was withdrawn, and a message that was read", async () => {
    const [owner, worker] = await pair();
    const task = await postTask(owner);
    const { question } = (await worker.post(`/tasks/${task.id}/questions`, { text: "How many words?" })).body;
    const answer = () => owner.post(`/questions/${question.id}/answer`, { text: "Five hundred." });
    expect(await sentAfter(owner, "question.asked", answer)).toEqual([]);
    const { bid } = await awardedTask(owner, worker);
    const agreement = await propose(worker, bid.taskId);
    const withdraw = () => worker.post(`/agreements/${agreement.id}/withdraw`);
    expect(await sentAfter(owner, "agreement.proposed", withdraw)).not.toContain("agreement.proposed");
    const { message } = (await worker.post(`/bids/${bid.id}/messages`, { text: "Hello." })).body;
    const read = () => owner.post(`/bids/${bid.id}/messages/read`, { upTo: message.id });
    expect(await sentAfter(owner, "message.posted", read)).not.toContain("message.posted");
  });

  test("a request of one's agent that was answered", async () => {
    const [owner] = await pair();
    const agent = await createAgent(service, owner, 0);
    const { id } = askedIn(await agent.post("/tasks", taskInput()));
    const decline = () => owner.post(`/approvals/${id}/decline`, { reason: "Not today." });
    expect(await sentAfter(owner, "approval.requested", decline)).not.toContain("approval.requested");
  });

  test("history stays true, and is sent", async () => {
    const [owner, worker] = await pair();
    const { task } = await deliveredTask(owner, worker);
    await owner.post(`/tasks/${task.id}/accept`);
    expect(await sentAfter(worker, "task.accepted", async () => undefined)).toContain("task.accepted");
  });

  test("what its reader does not want any more", async () => {
    const [owner, worker] = await pair();
    await placeBid(worker, (await postTask(owner)).id);
    const stop = () => owner.patch("/notifications/preferences", { work: { mail: "off" } });
    expect(await sentAfter(owner, "bid.received", stop)).toEqual([]);
  });
});

test("a conversation is mailed once until it is read", async () => {
  const [owner, worker] = [await createReachable(service, { cents: 50_000 }), await createReachable(service)];
  const bid = await placeBid(worker, (await postTask(owner)).id);
  const write = async () => (await owner.post(`/bids/${bid.id}/messages`, { text: "Hello." })).body.message;
  await write();
  expect(await subjectsOf(worker)).toHaveLength(1);
  const second = await write();
  await write();
  expect(await subjectsOf(worker)).toHaveLength(1);
  await worker.post(`/bids/${bid.id}/messages/read`, { upTo: second.id });
  for (let more = 0; more < 2; more++) {
    await write();
    expect(await subjectsOf(worker)).toHaveLength(2);
  }
});

test("six mails an hour, and one with the rest when the hour is over", async () => {
  const [owner, worker] = [await createReachable(service, { cents: 90_000 }), await createReachable(service)];
  const { database } = service.services;
  const tasks = await Promise.all(Array.from({ length: 8 }, () => postTask(owner)));
  for (const { id } of tasks) await placeBid(worker, id);
  expect(await mailsOf(owner)).toHaveLength(6);
  await placeBid(worker, (await postTask(owner)).id);
  expect(await mailsOf(owner)).toHaveLength(6);
  const [job] = await database.query<{ inMinutes: number }>(sql`
    SELECT extract(epoch FROM run_at - now()) / 60 AS "inMinutes" FROM graphile_worker.jobs WHERE key = ${`held news:${owner.id}`}`);
  expect(Number(job?.inMinutes)).toBeGreaterThan(50);
  await database.query(sql`
    UPDATE notification_mails SET created_at = created_at - interval '1 hour' WHERE user_id = ${owner.id}::uuid`);
  const mails = await mailsOf(owner);
  expect(mails).toHaveLength(7);
  expect(mails[6]?.subject).toBe("3 more notifications");
  expect(mails[6]?.text).toContain(`${service.url}/app/notifications`);
  expect(mails[6]?.text.match(/New bid of \$80\.00 on “Translate page/g)).toHaveLength(3);
});

test("in a flood, what is held is written once, and the mail names some and counts the rest", async () => {
  const [owner, worker] = [await createReachable(service, { cents: 90_000 }), await createReachable(service)];
  const { database } = service.services;
  const bid = await placeBid(worker, (await postTask(owner)).id);
  const change = () => worker.patch(`/bids/${bid.id}`, { notes: "Again." });
  for (let times = 0; times < 6; times++) {
    await change();
    await mailsOf(owner);
  }
  const versions = () =>
    database.query(sql`
      SELECT id, xmin::text AS version FROM notifications WHERE user_id = ${owner.id}::uuid AND mail = 'held' ORDER BY id`);
  await change();
  await mailsOf(owner);
  const held = await versions();
  expect(held).toHaveLength(2);
  for (let times = 0; times < 55; times++) await change();
  await mailsOf(owner);
  expect((await versions()).slice(0, 2)).toEqual(held);
  await database.query(sql`
    UPDATE notification_mails SET created_at = created_at - interval '1 hour' WHERE user_id = ${owner.id}::uuid`);
  const last = (await mailsOf(owner)).at(-1);
  expect(last?.subject).toBe("57 more notifications");
  expect(last?.text).toContain("Your inbox has 7 more.");
  expect(last?.text.match(/Again|changed/g)?.length ?? 0).toBeGreaterThan(0);
});

describe("a digest", () => {
  const at = (iso: string) => clockOf(() => new Date(iso));

  test("comes at 8:00 in its reader's zone, however its clock is changed", () => {
    const eight = (zone: string, now: string) => latestEight(zone, new Date(now)).toISOString();
    expect(eight("UTC", "2026-11-25T08:00:00Z")).toBe("2026-11-25T08:00:00.000Z");
    expect(eight("UTC", "2026-11-25T07:59:59Z")).toBe("2026-11-24T08:00:00.000Z");
    expect(eight("Asia/Kathmandu", "2026-11-25T02:15:00Z")).toBe("2026-11-25T02:15:00.000Z");
    expect(eight("Europe/Helsinki", "2026-10-25T12:00:00Z")).toBe("2026-10-25T06:00:00.000Z");
    expect(eight("Europe/Helsinki", "2026-10-25T05:30:00Z")).toBe("2026-10-24T05:00:00.000Z");
    expect(eight("America/New_York", "2026-03-08T13:00:00Z")).toBe("2026-03-08T12:00:00.000Z");
    expect(eight("Pacific/Kiritimati", "2026-11-25T17:00:00Z")).toBe("2026-11-24T18:00:00.000Z");
  });

  test("has what its reader wants daily, what their agents did, and new tasks, once a day and never empty", async () => {
    const [owner, agent] = [
      await createReachable(service, { cents: 50_000 }),
      await createReachable(service, { using: "key" }),
    ];
    const { database } = service.services;
    await database.query(sql`
      INSERT INTO notification_preferences (user_id, kind, mail, updated_at)
      VALUES (${agent.id}::uuid, 'marketplace', 'daily', now() - interval '9 days')`);
    const task = await postTask(owner);
    const gone = await postTask(owner);
    await placeBid(agent, task.id);
    await tellAll(service);
    await owner.post(`/tasks/${gone.id}/cancel`);
    const soon = new Date(Date.now() + 24 * HOUR_MS);
    const clock = clockOf(() => soon);
    await planDigests({ ...service.services, clock });
    await planDigests({ ...service.services, clock });
    const jobs = await database.query<{ payload: { mailIds: string[] } }>(sql`
      SELECT p.payload FROM graphile_worker._private_jobs p JOIN graphile_worker.jobs j ON j.id = p.id
      WHERE j.task_identifier = 'sendDigests'`);
    for (const { payload } of jobs) await sendDigests(service.services, payload);
    const mails = await listMails(service, agent.email);
    expect(mails).toHaveLength(1);
    expect(mails[0]?.text).toMatch(/Your agent “test” bid \$80\.00 on “Translate page/);
    expect(mails[0]?.text).toContain(task.title);
    expect(mails[0]?.text).not.toContain(gone.title);
    expect(mails[0]?.headers["list-unsubscribe"]).toBeDefined();
    await planDigests({ ...service.services, clock: at(new Date(soon.getTime() + 24 * HOUR_MS).toISOString()) });
    await sendMails(service, agent);
    expect(await listMails(service, agent.email)).toHaveLength(1);
  });
});

describe("a reminder", () => {
  const clockIn = (hours: number) => clockOf(() => new Date(Date.now() + hours * HOUR_MS));
  const remindIn = (hours: number) => remind({ ...service.services, clock: clockIn(hours) });
  const remindersOf = async (person: TestPerson) => {
    await sendMails(service, person);
    const mails = await listMails(service, person.email);
    return mails.map(({ subject }) => subject).filter((subject) => subject.startsWith("12 hours left"));
  };

  test("comes once, 12 hours before the deadline", async () => {
    const [owner, worker] = [await createReachable(service, { cents: 50_000 }), await createReachable(service)];
    await deliveredTask(owner, worker);
    await remindIn(35.9);
    expect(await remindersOf(owner)).toEqual([]);
    await Promise.all([remindIn(36.1), remindIn(36.1)]);
    await remindIn(40);
    expect(await remindersOf(owner)).toEqual([
      expect.stringMatching(/^12 hours left: accept or dispute “Translate page/),
    ]);
    expect(await remindersOf(worker)).toEqual([]);
  });

  test("does not come when somebody has acted, or when less than a day was given", async () => {
    const [owner, worker] = [await createReachable(service, { cents: 50_000 }), await createReachable(service)];
    const { task } = await deliveredTask(owner, worker);
    const short = await postTask(owner);
    const bid = await placeBid(worker, short.id, { etaHours: 20 });
    await owner.post(`/tasks/${short.id}/award`, { bidId: bid.id });
    await remindIn(10);
    expect(await remindersOf(worker)).toEqual([]);
    await remindIn(37);
    await owner.post(`/tasks/${task.id}/accept`);
    expect(await remindersOf(owner)).toEqual([]);
  });

  test("tells the bidder of a delivery that is due", async () => {
    const [owner, worker] = [await createReachable(service, { cents: 50_000 }), await createReachable(service)];
    await awardedTask(owner, worker);
    await remindIn(13);
    expect(await remindersOf(worker)).toEqual([expect.stringMatching(/^12 hours left: deliver “Translate page/)]);
  });
});

test("a mail that has lost its job gets another one", async () => {
  const [owner, worker] = [await createReachable(service, { cents: 50_000 }), await createReachable(service)];
  await placeBid(worker, (await postTask(owner)).id);
  await tellAll(service);
  const { database } = service.services;
  const jobs = () =>
    database.query<{ key: string }>(sql`SELECT key FROM graphile_worker.jobs WHERE key = ${`news:${owner.id}`}`);
  await database.query(sql`SELECT graphile_worker.remove_job(${`news:${owner.id}`})`);
  await database.query(sql`
    UPDATE notifications SET created_at = created_at - interval '11 minutes' WHERE user_id = ${owner.id}::uuid`);
  await tendMails(service.services);
  expect(await jobs()).toHaveLength(1);
});

describe("unsubscribing", () => {
  async function linkOf(person: TestPerson): Promise<string> {
    const [mail] = await mailsOf(person);
    return /<([^>]+)>/.exec(mail?.headers["list-unsubscribe"] ?? "")?.[1] ?? "";
  }
  const preferenceOf = async (person: TestPerson) =>
    (await person.get("/notifications/preferences")).body.preferences.work.mail;

  test("takes one click of a mail program, without a session or an origin, as often as it likes", async () => {
    const [owner, worker] = [await createReachable(service, { cents: 50_000 }), await createReachable(service)];
    await placeBid(worker, (await postTask(owner)).id);
    const link = await linkOf(owner);
    const page = await fetch(link);
    expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    expect(await page.text()).toContain("<button>Stop them</button>");
    expect(await preferenceOf(owner)).toBe("now");
    const click = (body: URLSearchParams | FormData) => fetch(link, { method: "POST", body, redirect: "manual" });
    const multipart = new FormData();
    multipart.set("List-Unsubscribe", "One-Click");
    for (const body of [new URLSearchParams({ "List-Unsubscribe": "One-Click" }), multipart]) {
      const answer = await click(body);
      expect([answer.status, await answer.text()]).toEqual([204, ""]);
      expect(await preferenceOf(owner)).toBe("off");
    }
    expect((await click(new URLSearchParams({ "List-Unsubscribe": "by-hand" }))).status).toBe(200);
    const other = await click(new URLSearchParams({ something: "else" }));
    expect([other.status, (await other.json()) as object]).toMatchObject([400, { error: "invalid_input" }]);
  });

  test("a wrong token is `invalid_token`, whoever sends it, and changes nothing", async () => {
    const [owner, worker] = [await createReachable(service, { cents: 50_000 }), await createReachable(service)];
    await placeBid(worker, (await postTask(owner)).id);
    const link = await linkOf(owner);
    const changed = link.slice(0, -2) + (link.endsWith("AA") ? "BB" : "AA");
    for (const address of [changed, link.slice(0, -4), `${service.url}/notifications/unsubscribe`, `${link}x`]) {
      for (const method of ["GET", "POST"]) {
        const answer = await fetch(address, { method });
        expectErrorBody((await answer.json()) as Parameters<typeof expectErrorBody>[0], "invalid_token");
        expect(answer.status).toBe(400);
      }
    }
    expect(await preferenceOf(owner)).toBe("now");
    expect((await fetch(link, { method: "DELETE" })).status).toBe(405);
  });
});
