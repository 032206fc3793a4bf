import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { sendNotificationMail } from "../../server/notifications/sendMail.ts";
import { sendPush } from "../../server/notifications/sendPush.ts";
import { waits } from "../../server/notifications/state.ts";
import { type NotificationKind, notificationKinds } from "../../server/schemas/notification.ts";
import { queryOne, sql } from "../../server/store/connection.ts";
import { createBrowser } from "../factories/browsers.ts";
import { createReachable, planMails, sendMails } from "../factories/mails.ts";
import { createModerator } from "../factories/moderators.ts";
import { inboxOf, tellAll } from "../factories/notifications.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { placeBid, postTask } from "../factories/tasks.ts";
import { listMails } from "../setup/mails.ts";
import { useService } from "../setup/testService.ts";

const service = useService({ mailbox: true, settings: { webhookAllowInsecure: true } });

test("everything that asks for something is looked at again: test/notifications/mails.test.ts moves each of these", () => {
  const asking = [...waits.text.matchAll(/WHEN '(\w+\.\w+)'/g)].map(([, type]) => type);
  expect(asking.toSorted()).toEqual([
    "agreement.proposed",
    "approval.requested",
    "bid.received",
    "delivery.posted",
    "message.posted",
    "question.asked",
    "task.awarded",
    "task.changes_declined",
    "task.changes_requested",
    "task.created",
  ]);
});

/** The only mail of a person that waits to be sent. */
async function plannedMail(person: TestPerson): Promise<string> {
  await tellAll(service);
  await planMails(service, person);
  const { id } = await queryOne<{ id: string }>(
    service.services.database,
    sql`SELECT id FROM notification_mails WHERE user_id = ${person.id}::uuid AND ended_at IS NULL`,
  );
  return id;
}

test("an address that the mail server refuses for good gets nothing more until it is verified again", async () => {
  const [owner, worker] = [await createReachable(service, { cents: 90_000 }), await createReachable(service)];
  await placeBid(worker, (await postTask(owner)).id);
  const mailId = await plannedMail(owner);
  let asked = 0;
  const refusing = {
    send: async () => {
      asked++;
      return false;
    },
    verify: async () => undefined,
    close: async () => undefined,
  };
  await sendNotificationMail({ ...service.services, mail: refusing }, { mailId });
  expect((await owner.get("/auth/me")).body.user.emailVerifiedAt).toBeNull();
  await placeBid(worker, (await postTask(owner)).id);
  await tellAll(service);
  await planMails(service, owner);
  await sendMails(service, owner);
  expect([asked, await listMails(service, owner.email)]).toEqual([1, []]);
});

test("a mail server that is away is asked again, for the same mail", async () => {
  const [owner, worker] = [await createReachable(service, { cents: 90_000 }), await createReachable(service)];
  await placeBid(worker, (await postTask(owner)).id);
  const mailId = await plannedMail(owner);
  const away = {
    send: () => Promise.reject(new Error("connect ECONNREFUSED")),
    verify: async () => undefined,
    close: async () => undefined,
  };
  await expect(sendNotificationMail({ ...service.services, mail: away }, { mailId })).rejects.toThrow("ECONNREFUSED");
  await sendNotificationMail(service.services, { mailId });
  const mails = await listMails(service, owner.email);
  expect(mails.map(({ headers }) => headers["message-id"])).toEqual([`<${mailId}@example.com>`]);
});

test("two processes that send the same mail at once send it once", async () => {
  const [owner, worker] = [await createReachable(service, { cents: 90_000 }), await createReachable(service)];
  await placeBid(worker, (await postTask(owner)).id);
  const mailId = await plannedMail(owner);
  await Promise.all(Array.from({ length: 5 }, () => sendNotificationMail(service.services, { mailId })));
  expect(await listMails(service, owner.email)).toHaveLength(1);
});

test("what concerns the security of an account is mailed whoever did it, and cannot be unsubscribed from", async () => {
  const [person, moderator] = [await createReachable(service), await createModerator(service)];
  await person.post("/keys", { label: "another", scopes: [] });
  await sendNotificationMail(service.services, { mailId: await plannedMail(person) });
  await moderator.post(`/users/${person.id}/suspend`, { reason: "Spam." });
  await sendNotificationMail(service.services, { mailId: await plannedMail(person) });
  const [suspended, created] = await listMails(service, person.email);
  expect([created?.subject, suspended?.subject]).toEqual(["A new API key: “another”", "Your account is suspended"]);
  for (const mail of [created, suspended]) expect(Object.keys(mail?.headers ?? {})).not.toContain("list-unsubscribe");
});

test("what has been done meanwhile is not pushed", async () => {
  let pushes = 0;
  const server = createServer(async (request, response) => {
    for await (const _ of request) {
      // Nobody reads what is encrypted.
    }
    pushes++;
    response.writeHead(201).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}/push`;
  const [owner, worker] = [await createPerson(service, { cents: 90_000 }), await createPerson(service)];
  await owner.get("/notifications/push");
  const { keys } = createBrowser();
  const { subscription } = (await owner.post("/notifications/push", { endpoint, keys })).body;
  const bid = await placeBid(worker, (await postTask(owner)).id);
  await tellAll(service);
  const { database } = service.services;
  const { payload } = await queryOne<{ payload: Parameters<typeof sendPush>[1] }>(
    database,
    sql`SELECT payload FROM graphile_worker._private_jobs WHERE payload ->> 'subscriptionId' = ${subscription.id}`,
  );
  await sendPush(service.services, payload);
  expect(pushes).toBe(1);
  await worker.post(`/bids/${bid.id}/withdraw`);
  await sendPush(service.services, payload);
  expect(pushes).toBe(1);
  await new Promise((resolve) => server.close(resolve));
});

test("who follows new tasks at once has them in the inbox, but not their own; who does not, has none", async () => {
  const [poster, follower, other] = await Promise.all(
    [{ cents: 90_000 }, {}, {}].map((options) => createReachable(service, options)),
  );
  if (!poster || !follower || !other) throw new Error("nobody is there");
  for (const person of [poster, follower]) {
    await person.patch("/notifications/preferences", { marketplace: { mail: "now" } });
  }
  const [task, gone] = [await postTask(poster), await postTask(poster)];
  await tellAll(service);
  expect((await inboxOf(follower)).map(({ type }) => type)).toEqual(["task.created", "task.created"]);
  expect([await inboxOf(poster), await inboxOf(other)]).toEqual([[], []]);
  await planMails(service, follower);
  await poster.post(`/tasks/${gone.id}/cancel`);
  await sendMails(service, follower);
  const subjects = (await listMails(service, follower.email)).map(({ subject }) => subject);
  expect(subjects).toEqual([`New task: “${task.title}”`]);
});

test("each kind is one that the database knows, and no other", async () => {
  const { database } = service.services;
  const person = await createPerson(service);
  const insert = (kind: NotificationKind | "weather") =>
    database.query(sql`
    INSERT INTO notification_preferences (user_id, kind) VALUES (${person.id}::uuid, ${kind})`);
  for (const kind of notificationKinds) await insert(kind);
  await expect(insert("weather")).rejects.toThrow();
});
