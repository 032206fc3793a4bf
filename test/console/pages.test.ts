import { beforeAll, describe, expect, test } from "vitest";
import { makeModerator } from "../factories/moderators.ts";
import { tellAll } from "../factories/notifications.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { deliveredTask, disputedTask, placeBid, postTask } from "../factories/tasks.ts";
import { hasBrowser } from "../setup/browser.ts";
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
  // After an update, a page of the build before must not take a page for its missing script.
  expect((await rest(service.url, "GET", "/app/assets/gone-12345678.js", browser)).status).toBe(404);
  // Programs get what they always got.
  expect((await rest(service.url, "GET", "/", browser)).headers.get("location")).toBe("/app");
  expect((await rest(service.url, "GET", "/")).status).toBe(200);
});

describe.skipIf(!hasBrowser)("in a real browser", () => {
  const console = useConsole(service);
  let buyer: TestPerson;
  let bidder: TestPerson;
  let moderator: TestPerson;
  const ids = { open: "", bid: "", delivered: "", disputed: "", dispute: "", decided: "", webhook: "" };

  beforeAll(async () => {
    buyer = await createPerson(service, { cents: 100_000 });
    bidder = await createPerson(service);
    moderator = await createPerson(service);
    await makeModerator(service, moderator);
    const open = await postTask(buyer, { acceptanceCriteria: "It reads well." });
    const bid = await placeBid(bidder, open.id, { notes: "I can start today." });
    await bidder.post(`/bids/${bid.id}/messages`, { text: "May I begin?" });
    const asked = await bidder.post(`/tasks/${open.id}/questions`, { text: "How many words?" });
    await buyer.post(`/questions/${asked.body.question.id}/answer`, { text: "Two thousand." });
    await bidder.post(`/tasks/${open.id}/questions`, { text: "In which file format?" });
    const { task: delivered } = await deliveredTask(buyer, bidder);
    const { task: disputed, dispute } = await disputedTask(buyer, bidder);
    const { dispute: decided } = await disputedTask(buyer, bidder);
    await moderator.post(`/disputes/${decided.id}/resolve`, { resolution: "split", bidderCents: 1_000, note: "Half." });
    await tellAll(service);
    const webhook = await buyer.post("/webhooks", { url: "http://127.0.0.1:9/hook", events: ["bid.received"] });
    await buyer.post(`/webhooks/${webhook.body.id}/test`);
    Object.assign(ids, {
      ...{ open: open.id, bid: bid.id, delivered: delivered.id, disputed: disputed.id, dispute: dispute.id },
      ...{ decided: decided.id, webhook: webhook.body.id },
    });
  });

  /** What axe finds on a page in both themes, at the smallest and a usual width, and what is too wide at any. */
  async function check(visitor: Visitor, path: string): Promise<void> {
    const { page } = visitor;
    const at = (width: number) => page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme: "light" });
    await at(1280);
    if (page.url() === "about:blank") await visitor.open(path);
    else await visitor.follow(path);
    await page.locator("main h1").waitFor();
    await expect.poll(() => page.getByText("Loading…").count(), { message: path }).toBe(0);
    await visitor.fits();
    await visitor.isAccessible();
    await at(1920);
    await visitor.fits();
    await at(768);
    await visitor.fits();
    await page.emulateMedia({ colorScheme: "dark" });
    await at(390);
    await visitor.fits();
    await visitor.isAccessible();
  }

  // Pages of one kind do not follow each other, so that the next one is recognised by its new title.
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
    const tasks = [
      `/tasks/${ids.open}`,
      `/edit/${ids.open}`,
      `/tasks/${ids.delivered}`,
      "/work",
      `/tasks/${ids.disputed}`,
    ];
    const talk = ["/messages", "/notifications", `/messages/${ids.bid}`];
    const money = ["/wallet", "/wallet/top-up", "/work?show=bids", "/wallet/payouts"];
    const rest = ["/keys", "/webhooks", `/webhooks/${ids.webhook}`, "/account", `/users/${buyer.id}`, "/post"];
    for (const path of ["/", ...tasks, ...talk, ...money, ...rest]) await check(visitor, path);
    await visitor.open(`/tasks/${ids.open}`);
    await visitor.button("Answer").click();
    await visitor.field("Your answer").waitFor();
    await visitor.isAccessible();
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
    await visitor.follow(`/moderation/disputes/${ids.decided}`);
    await visitor.sees("It was divided.");
    await visitor.isAccessible();
  });

  test("the keyboard alone does the main job, and shows where it is", async () => {
    const [ada, bo] = [await console.arrive("Ada"), await console.arrive("Bo")];
    await ada.enterAs(buyer);
    await bo.enterAs(bidder);

    /** What has the focus: its name or text, and whether one can see that it has it. */
    const focused = ({ page }: Visitor) =>
      page.evaluate<{ name: string; isSeen: boolean }>(`(() => {
        const { activeElement: element, body } = document;
        if (element === body) return { name: "", isSeen: true };
        const text = element.getAttribute("aria-label") ?? element.labels?.[0]?.textContent ?? element.textContent;
        const outlined = (each) => each != null && getComputedStyle(each).outlineStyle !== "none";
        return { name: text.trim(), isSeen: outlined(element) || outlined(element.closest("label")) || outlined(element.nextElementSibling) };
      })()`);
    /** Presses the tab key until the focus is there; every stop on the way must be seen. */
    const tabTo = async (visitor: Visitor, name: string) => {
      for (let presses = 0; presses < 60; presses++) {
        await visitor.page.keyboard.press("Tab");
        const here = await focused(visitor);
        if (here.name === "") continue;
        expect(here).toEqual({ name: here.name, isSeen: true });
        if (here.name.startsWith(name)) return;
      }
      throw new Error(`the tab key does not lead to ${name}`);
    };
    const write = async (visitor: Visitor, label: string, text: string) => {
      await tabTo(visitor, label);
      await visitor.page.keyboard.type(text);
    };
    const press = async (visitor: Visitor, name: string, key = "Enter") => {
      await tabTo(visitor, name);
      await visitor.page.keyboard.press(key);
    };

    await ada.open("/");
    await ada.heading("Hello").waitFor();
    await press(ada, "Skip to the content");
    await ada.open("/post");
    await ada.heading("Post a task").waitFor();
    await write(ada, "Title", "By keyboard");
    await write(ada, "Description", "All of it.");
    await write(ada, "Budget", "20");
    await press(ada, "Post the task");
    await ada.heading("By keyboard").waitFor();

    await bo.open(new URL(ada.page.url()).pathname.replace("/app", ""));
    await bo.heading("Place a bid").waitFor();
    await write(bo, "Price", "15");
    await write(bo, "Hours until the delivery", "3");
    await press(bo, "Place the bid");
    await bo.heading("Your bid").waitFor();

    await ada.button("Award").waitFor();
    await press(ada, "Award");
    await ada.page.getByRole("alertdialog").waitFor();
    await press(ada, "Award for $15.00");
    await ada.sees("The work is under way");

    await bo.sees("It is your turn: deliver");
    const chooser = bo.page.waitForEvent("filechooser");
    await press(bo, "Choose the delivery", "Space");
    await (await chooser).setFiles({ name: "done.txt", mimeType: "text/plain", buffer: Buffer.from("done") });
    await press(bo, "Deliver this file");
    await bo.sees("The buyer looks at your delivery");

    await ada.button("Accept and pay").waitFor();
    await press(ada, "Accept and pay");
    await ada.page.getByRole("alertdialog").waitFor();
    await press(ada, "Pay $15.00");
    await ada.heading("Rate").waitFor();
    await tabTo(ada, "★1 star");
    await ada.page.keyboard.press("Space");
    for (const _ of [2, 3, 4]) await ada.page.keyboard.press("ArrowRight");
    await press(ada, "Send the rating");
    await ada.page.getByRole("img", { name: "4 of 5 stars" }).waitFor();
  });
});
