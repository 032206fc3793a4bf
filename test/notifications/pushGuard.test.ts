import { expect, test } from "vitest";
import { sendPush } from "../../server/notifications/sendPush.ts";
import { sql } from "../../server/store/connection.ts";
import { browserSubscription } from "../factories/browsers.ts";
import { createPerson } from "../factories/people.ts";
import { expectErrorBody } from "../setup/expectError.ts";
import { useService } from "../setup/testService.ts";

const service = useService();

test("a push service is a public https address, when it is stored and when it is called", async () => {
  const person = await createPerson(service);
  for (const endpoint of [
    "http://push.example.com/a",
    "https://127.0.0.1/a",
    "https://[::1]/a",
    "https://10.0.0.1/a",
  ]) {
    const { status, body } = await person.post("/notifications/push", browserSubscription(endpoint));
    expectErrorBody(body, "invalid_url");
    expect(status).toBe(400);
  }
  const { subscription } = (await person.post("/notifications/push", browserSubscription())).body;
  const { database } = service.services;
  await database.query(sql`UPDATE push_subscriptions SET endpoint = 'https://127.0.0.1/a'`);
  const until = new Date(Date.now() + 3_600_000).toISOString();
  const message = { id: crypto.randomUUID(), title: "t", text: "t", url: "/" };
  await sendPush(service.services, { subscriptionId: subscription.id, message, until });
  expect((await person.get("/notifications/push")).body.subscriptions).toEqual([]);
});
