import { beforeAll, describe, expect, test } from "vitest";
import { makeModerator } from "../factories/moderators.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { deliveredTask, disputedTask, placeBid, postTask } from "../factories/tasks.ts";
import { browserTimeout, hasBrowser } from "../setup/browser.ts";
import { rest } from "../setup/client.ts";
import { useService } from "../setup/testService.ts";
import { useBuiltConsole, useConsole, type Visitor } from "./visitor.ts";

const service = useService({ settings: { webhookAllowInsecure: true } });
useBuiltConsole();

test("the console's pages allow nothing inline and no host but the object store, and their files stay in caches", async () => {
  const browser = { headers: { accept: "text/html" } };
  const page = await rest(service.url, "GET", "/app/tasks/anything", browser);
  expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
  const policy = page.headers.get("content-security-policy") ?? "";
  const store = service.services.storage.origin;
  expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self';");
  expect(policy).toContain(`connect-src 'self' ${store};`);
  expect(policy).not.toMatch(/unsafe|\*/);
  expect(page.text).not.toMatch(/<script>|<style|\son\w+=|\sstyle=/);
  const [script = ""] = /\/app\/assets\/[^"]+\.js/.exec(page.text) ?? [];
  const file = await rest(service.url, "GET", script);
  expect(file.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
  // Programs get what they always got.
  expect((await rest(service.url, "GET", "/", browser)).headers.get("location")).toBe("/app");
  expect((await rest(service.url, "GET", "/")).status).toBe(200);
});

describe.skipIf(!hasBrowser)("in a real browser", browserTimeout, () => {
  const console = useConsole(service);
  let buyer: TestPerson;
  let bidder: TestPerson;
  let moderator: TestPerson;
  const ids: Record<"open" | "delivered" | "disputed" | "dispute" | "webhook", string> = {
    ...{ open: "", delivered: "", disputed: "", dispute: "", webhook: "" },
  };

  beforeAll(async () => {
    buyer = await createPerson(service, { cents: 100_000 });
    bidder = await createPerson(service);
    moderator = await createPerson(service);
    await makeModerator(service, moderator);
    const open = await postTask(buyer, { acceptanceCriteria: "It reads well." });
    await placeBid(bidder, open.id, { notes: "I can start today." });
    const { task: delivered } = await deliveredTask(buyer, bidder);
    const { task: disputed, dispute } = await disputedTask(buyer, bidder);
    const webhook = await buyer.post("/webhooks", { url: "http://127.0.0.1:9/hook", events: ["bid.received"] });
    await buyer.post(`/webhooks/${webhook.body.id}/test`);
    Object.assign(ids, {
      ...{ open: open.id, delivered: delivered.id, disputed: disputed.id, dispute: dispute.id },
      webhook: webhook.body.id,
    });
  });

  /** What axe finds, and what is too wide, on a page in both themes and at the smallest and a usual width. */
  async function check(visitor: Visitor, path: string): Promise<void> {
    const { page } = visitor;
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize({ width: 1280, height: 900 });
    await visitor.open(path);
    await page.locator("main h1").waitFor();
    await expect.poll(() => page.getByText("Loading…").count(), { timeout: 30_000 }).toBe(0);
    await visitor.isAccessible();
    await page.emulateMedia({ colorScheme: "dark" });
    await page.setViewportSize({ width: 390, height: 800 });
    await visitor.fits();
    await visitor.isAccessible();
  }

  test("axe finds nothing, and nothing is too wide, on any page of a visitor", async () => {
    const visitor = await console.arrive("Visitor");
    const pages = ["/", "/tasks", `/tasks/${ids.open}`, "/tasks?query=nothing-like-this", `/users/${bidder.id}`];
    const forms = ["/sign-in", "/sign-up", "/forgot-password", "/reset-password", "/verify-email", "/nowhere"];
    for (const path of [...pages, ...forms]) await check(visitor, path);
    await visitor.open("/sign-in");
    await visitor.button("Sign in").click();
    await visitor.page.getByRole("alert").waitFor();
    await visitor.isAccessible();
  });

  test("axe finds nothing, and nothing is too wide, on any page of a person", async () => {
    const visitor = await console.arrive("Buyer");
    await visitor.enterAs(buyer);
    const pages = [
      "/",
      `/tasks/${ids.open}`,
      `/tasks/${ids.delivered}`,
      `/tasks/${ids.disputed}`,
      `/edit/${ids.open}`,
      "/post",
    ];
    const money = ["/wallet", "/wallet/top-up", "/wallet/payouts", "/work", "/work?show=bids"];
    const rest = ["/keys", "/webhooks", `/webhooks/${ids.webhook}`, "/account"];
    for (const path of [...pages, ...money, ...rest]) await check(visitor, path);
    await visitor.open(`/tasks/${ids.open}`);
    await visitor.button("Award").click();
    await visitor.page.getByRole("alertdialog").waitFor();
    await visitor.isAccessible();
    await visitor.page.keyboard.press("Escape");
    await visitor.page.getByRole("button", { name: /^Account of/ }).click();
    await visitor.button("Sign out").waitFor();
    await visitor.isAccessible();
  });

  test("axe finds nothing, and nothing is too wide, on any page of a moderator", async () => {
    const visitor = await console.arrive("Moderator");
    await visitor.enterAs(moderator);
    const pages = ["/moderation/disputes", `/moderation/disputes/${ids.dispute}`, "/moderation/users"];
    for (const path of [...pages, "/moderation/actions", "/moderation/operations"]) await check(visitor, path);
  });

  test("the keyboard alone leads from the address bar to an awarded task", async () => {
    const visitor = await console.arrive("Keys");
    const { page } = visitor;
    await visitor.enterAs(buyer);
    await visitor.open(`/tasks/${ids.open}`);
    await visitor.button("Award").waitFor();
    await page.keyboard.press("Tab");
    const focused = () => page.evaluate<string>("document.activeElement.textContent");
    expect(await focused()).toBe("Skip to the content");
    await page.keyboard.press("Enter");
    for (let presses = 0; presses < 30 && (await focused()) !== "Award"; presses++) await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("alertdialog").waitFor();
    for (let presses = 0; presses < 5 && !(await focused()).startsWith("Award for"); presses++) {
      await page.keyboard.press("Tab");
    }
    await page.keyboard.press("Enter");
    await visitor.sees("The work is under way");
  });
});
