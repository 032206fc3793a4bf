import Stripe from "stripe";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createPerson } from "../factories/people.ts";
import { hasBrowser } from "../setup/browser.ts";
import { rest } from "../setup/client.ts";
import { useService } from "../setup/testService.ts";
import { type Receiver, startReceiver } from "../webhooks/receiver.ts";
import { useConsole } from "./visitor.ts";

const service = useService({ worker: true, settings: { webhookAllowInsecure: true } });

/** The events of webhooks, two that are kept first. */
const closedSet = [
  /^bid\.received/,
  /^task\.awarded/,
  ...[/^task\.created/, /^delivery\.posted/, /^task\.accepted/, /^task\.disputed(?!_)/, /^task\.dispute_resolved/],
];

describe.skipIf(!hasBrowser)("in a real browser", () => {
  const console = useConsole(service);
  let receiver: Receiver;
  /** What the receiver answers. A 4xx is final: nothing is sent again by itself. */
  let status = 404;
  beforeAll(async () => {
    receiver = await startReceiver(() => status);
  });
  afterAll(() => receiver.stop());

  test("an endpoint is registered, its secret shown once, and deliveries are tested, looked at and sent again", async () => {
    const person = await createPerson(service);
    const visitor = await console.arrive("Developer");
    const { page } = visitor;
    await visitor.enterAs(person);
    await visitor.open("/webhooks");
    await visitor.sees("You have no endpoints");
    await visitor.field("Address").fill("ftp://example.com");
    await visitor.button("Register").click();
    await expect.poll(() => page.locator("[aria-invalid=true]").count()).toBeGreaterThan(0);
    await visitor.field("Address").fill(`${receiver.url}/hook`);
    await visitor.sees("When a bid is placed on a task; for the task's buyer.");
    await visitor.button("All of these").click();
    for (const name of closedSet) expect(await visitor.field(name).isChecked()).toBe(true);
    for (const name of closedSet.slice(2)) await visitor.field(name).uncheck();
    await visitor.button("Register").click();
    const secret = (await page.locator("pre").textContent()) ?? "";
    await visitor.button("Done").click();
    await visitor.link(`${receiver.url}/hook`).click();
    await visitor.heading(new URL(receiver.url).host).waitFor();
    await expect.poll(() => page.content()).not.toContain(secret);
    expect((await person.get("/webhooks")).body.webhooks).toMatchObject([{ events: ["bid.received", "task.awarded"] }]);

    await page.getByText("Change the endpoint").click();
    await visitor.field(/^task\.awarded/).uncheck();
    await page.getByText("More events").first().click();
    await visitor.field(/^bid\.rejected/).check();
    await visitor.button("Save").click();
    const changed = { events: ["bid.received"], logEvents: ["bid.rejected"], active: true };
    await expect.poll(async () => (await person.get("/webhooks")).body.webhooks).toMatchObject([changed]);

    const deliveries = page.getByRole("list", { name: "Deliveries" }).getByRole("listitem");
    const attempts = deliveries.locator("details li");
    await visitor.button("Send a test").click();
    await deliveries.getByText("Failed").waitFor();
    await deliveries.locator("summary").click();
    expect(await attempts.allTextContents()).toEqual([expect.stringMatching(/: status 404, after [\d.,]+ ms$/)]);

    status = 200;
    await visitor.button("Repeat what failed").click();
    await visitor.sees("Sent again: 1 delivery.");
    await deliveries.getByText("Delivered").waitFor();
    await visitor.button("Send again").click();
    await expect.poll(() => attempts.count()).toBe(3);
    await page.getByRole("navigation", { name: "Deliveries by status" }).getByRole("link", { name: "Failed" }).click();
    await visitor.sees("No deliveries");
    const [first] = receiver.received;
    const signature = String(first?.headers["x-service-signature"]);
    expect(Stripe.webhooks.constructEvent(first?.body ?? "", signature, secret, 3_600)).toMatchObject({
      id: expect.any(String),
    });
    expect(new Set(receiver.received.map(({ event }) => event.id)).size).toBe(1);

    await visitor.button("Delete").click();
    await visitor.confirm("Delete the endpoint");
    await visitor.sees("You have no endpoints");
  });

  test("a key is shown once, does what it may, shows what it spent, and is revoked", async () => {
    const person = await createPerson(service);
    await person.get("/keys").then(({ body }) => person.delete(`/keys/${body.keys[0].id}`));
    const visitor = await console.arrive("Owner");
    const { page } = visitor;
    await visitor.enterAs(person);
    await visitor.open("/keys");
    await visitor.field("Name").fill("my agent");
    // What is proposed needs no more than a name; an agent that spends is offered a limit.
    expect(await visitor.field(/^Work on tasks/).isChecked()).toBe(true);
    expect(await visitor.field("In 90 days").isChecked()).toBe(true);
    await visitor.field(/^Have tasks done/).check();
    expect(await visitor.field("A limit per day").isChecked()).toBe(true);
    expect(await page.getByRole("textbox", { name: "Limit" }).inputValue()).toBe("50.00");
    await page.getByRole("textbox", { name: "Limit" }).fill("25");
    await visitor.button("Create the key").click();
    const raw = (await page.locator("pre").textContent()) ?? "";
    const me = await rest(service.url, "GET", "/auth/me", { credentials: { authorization: `Bearer ${raw}` } });
    expect(me.body.auth).toMatchObject({
      scopes: ["task:write", "message:write"],
      key: { spendLimit: { cents: 2_500, per: "day" } },
    });
    const days = (Date.parse(me.body.auth.key.expiresAt) - service.clock.now().getTime()) / 86_400_000;
    expect(days).toBeGreaterThan(89);
    await visitor.button("Done").click();
    await visitor.sees("$0.00 of $25.00 spent");
    await expect.poll(() => page.content()).not.toContain(raw);
    await visitor.button("Revoke").click();
    await visitor.confirm("Revoke the key");
    await visitor.sees("You have no keys");
  });
});
