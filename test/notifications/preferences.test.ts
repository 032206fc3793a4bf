import { expect, test } from "vitest";
import { sql } from "../../server/store/connection.ts";
import { browserSubscription } from "../factories/browsers.ts";
import { inboxOf, tellAll } from "../factories/notifications.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { placeBid, postTask } from "../factories/tasks.ts";
import { rest } from "../setup/client.ts";
import { expectError, expectErrorBody, issuePaths } from "../setup/expectError.ts";
import { useService } from "../setup/testService.ts";

const service = useService({ settings: { webhookAllowInsecure: true } });

const path = "/notifications/preferences";
const preferencesOf = async (person: TestPerson) => (await person.get(path)).body.preferences;
const pushed = async (person: TestPerson) =>
  service.services.database.query(sql`
    SELECT FROM graphile_worker._private_jobs j JOIN push_subscriptions s ON s.id::text = j.payload ->> 'subscriptionId'
    WHERE s.user_id = ${person.id}::uuid`);

test("everything is mailed at once but new tasks, and pushed while there is a browser for it", async () => {
  const person = await createPerson(service);
  const now = { mail: "now", push: false };
  const defaults = { deadlines: now, work: now, money: now, messages: now, account: now };
  expect(await preferencesOf(person)).toEqual({ ...defaults, marketplace: { mail: "off", push: false } });
  await person.post("/notifications/push", browserSubscription("http://127.0.0.1:9/push"));
  expect(await preferencesOf(person)).toMatchObject({ deadlines: { push: true }, marketplace: { push: false } });
});

test("a change changes only what it names, and lasts", async () => {
  const person = await createPerson(service);
  const changed = await person.patch(path, { messages: { mail: "daily" }, work: { push: true } });
  expect(changed.body.preferences).toMatchObject({
    messages: { mail: "daily", push: false },
    work: { mail: "now", push: true },
    money: { mail: "now", push: false },
  });
  await person.patch(path, { messages: { push: true }, work: { mail: "off" } });
  expect(await preferencesOf(person)).toMatchObject({
    messages: { mail: "daily", push: true },
    work: { mail: "off", push: true },
  });
});

test("mails about the account cannot be off, and a key changes nothing", async () => {
  const person = await createPerson(service);
  const refused = await person.patch(path, { account: { mail: "off" }, work: { mail: "off" } });
  expectError(refused, "invalid_input");
  expect(issuePaths(refused.body)).toEqual(["account.mail"]);
  for (const wrong of [{ work: { mail: "weekly" } }, { weather: { mail: "now" } }, { work: "off" }]) {
    expectError(await person.patch(path, wrong), "invalid_input");
  }
  expect(await preferencesOf(person)).toMatchObject({ account: { mail: "now" }, work: { mail: "now" } });
  for (const method of ["GET", "PATCH"]) {
    const answer = await rest(service.url, method, path, {
      credentials: person.key,
      ...(method === "PATCH" && { body: { work: { mail: "off" } } }),
    });
    expectErrorBody(answer.body, "forbidden");
  }
});

test("whoever turned push off for a kind is told of it in the inbox only", async () => {
  const [buyer, bidder] = [await createPerson(service, { cents: 50_000 }), await createPerson(service)];
  await buyer.post("/notifications/push", browserSubscription("http://127.0.0.1:9/off"));
  await buyer.patch(path, { work: { push: false } });
  const task = await postTask(buyer);
  const bid = await placeBid(bidder, task.id);
  await tellAll(service);
  expect([(await inboxOf(buyer)).length, (await pushed(buyer)).length]).toEqual([1, 0]);
  await buyer.patch(path, { work: { push: true } });
  await bidder.patch(`/bids/${bid.id}`, { priceCents: 7_000 });
  await tellAll(service);
  expect([(await inboxOf(buyer)).length, (await pushed(buyer)).length]).toEqual([2, 1]);
});

test("a time zone is the IANA name of one, is shown to its owner, and is the zone of the times that they read", async () => {
  const [person, bidder] = [await createPerson(service, { cents: 50_000 }), await createPerson(service)];
  expect((await person.get("/auth/me")).body.user.timeZone).toBeNull();
  const changed = await person.patch("/auth/me", { timeZone: "Asia/Tokyo" });
  expect(changed.body.user).toMatchObject({ timeZone: "Asia/Tokyo", displayName: person.displayName });
  expect((await person.get("/auth/me")).body.user.timeZone).toBe("Asia/Tokyo");
  for (const timeZone of ["Mars/Olympus", "+02:00", "", 2, "Asia/Tokyo\u0000"]) {
    expectError(await person.patch("/auth/me", { timeZone }), "invalid_input");
  }
  expectError(await person.patch("/auth/me", {}), "invalid_input");
  await bidder.patch("/auth/me", { timeZone: "Asia/Kathmandu" });
  const task = await postTask(person);
  const bid = await placeBid(bidder, task.id);
  await person.post(`/tasks/${task.id}/award`, { bidId: bid.id });
  await tellAll(service);
  expect((await inboxOf(bidder))[0]?.text).toMatch(/^Deliver by \d+ \w+ \d{4}(,| at) \d\d:\d\d GMT\+5:45\. /);
  expect((await person.patch("/auth/me", { timeZone: null })).body.user.timeZone).toBeNull();
});
