import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { createPerson } from "../factories/people.ts";
import { awardedTask, deliveredTask, placeBid, postTask } from "../factories/tasks.ts";
import { hasBrowser } from "../setup/browser.ts";
import { useService } from "../setup/testService.ts";
import { useConsole, type Visitor } from "./visitor.ts";

const service = useService({ worker: true });

/** Notes every procedure that a page calls from now on, once for each call, and every refusal. */
function watchCalls(page: Page) {
  const calls: string[] = [];
  const refused: string[] = [];
  page.on("request", (request) => {
    const [, names = ""] = /\/trpc\/([\w.,]+)/.exec(request.url()) ?? [];
    calls.push(...names.split(",").filter((name) => name !== ""));
  });
  page.on("response", (response) => {
    if (response.status() >= 400) refused.push(`${response.status()} ${response.url()}`);
  });
  return { refused, count: (name: string) => calls.filter((call) => call === name).length };
}

/** Opens a page, and waits until its events arrive. */
async function followed(visitor: Visitor, path: string): Promise<void> {
  await Promise.all([visitor.page.waitForResponse(/events\.stream/), visitor.open(path)]);
}

describe.skipIf(!hasBrowser)("in a real browser", () => {
  const console = useConsole(service);

  test("no page that a visitor opens is refused anything, or leaves a line in the security log", async () => {
    const task = await postTask(await createPerson(service, { cents: 20_000 }));
    const before = service.securityEntries.length;
    const visitor = await console.arrive("Visitor");
    const { refused } = watchCalls(visitor.page);
    for (const path of ["/", "/tasks", `/tasks/${task.id}`]) {
      await visitor.open(path);
      await visitor.page.locator("main h1").waitFor();
      await visitor.sees(task.title);
    }
    await visitor.open("/wallet");
    await visitor.button("Sign in").waitFor();
    expect(refused).toEqual([]);
    expect(service.securityEntries.slice(before)).toEqual([]);
  });

  test("home and task are read once, and again only when something happens", async () => {
    const [buyer, bidder] = [await createPerson(service, { cents: 20_000 }), await createPerson(service)];
    const task = await postTask(buyer, { title: "Count the gulls" });
    const ada = await console.arrive("Ada");
    await ada.enterAs(buyer);
    const home = watchCalls(ada.page);
    await followed(ada, "/");
    await ada.sees("Count the gulls");
    await placeBid(bidder, task.id);
    await ada.sees("1 bid");
    expect(home.count("tasks.listOwn")).toBe(2 * 2);
    expect(home.count("wallet.read")).toBe(2);

    const page = watchCalls(ada.page);
    await followed(ada, `/tasks/${task.id}`);
    await ada.sees("It is your turn: choose a bid");
    await placeBid(await createPerson(service), task.id);
    await ada.sees("Compare 2 bids");
    expect(page.count("tasks.read")).toBe(2);
  });

  test("a number of stars is chosen by the person, with the pointer or the keyboard, and never suggested", async () => {
    const [buyer, bidder] = [await createPerson(service, { cents: 20_000 }), await createPerson(service)];
    const { task } = await deliveredTask(buyer, bidder);
    await buyer.post(`/tasks/${task.id}/accept`);
    const ada = await console.arrive("Ada");
    await ada.enterAs(buyer);
    await ada.open(`/tasks/${task.id}`);
    const stars = ada.page.getByRole("radio");
    await stars.first().waitFor();
    expect(await ada.page.getByRole("radio", { checked: true }).count()).toBe(0);
    await ada.button("Send the rating").click();
    await ada.sees("Choose one to five stars.");
    await ada.isAccessible();
    await ada.page.getByRole("radio", { name: "3 stars" }).focus();
    await ada.page.keyboard.press("Space");
    await ada.page.keyboard.press("ArrowRight");
    expect(await ada.page.getByRole("radio", { name: "4 stars, very good" }).isChecked()).toBe(true);
    await ada.button("Send the rating").click();
    await ada.page.getByRole("img", { name: "4 of 5 stars" }).waitFor();
  });

  test("the price leads after the award; after the acceptance the page says what was paid, and nothing is due", async () => {
    const [buyer, bidder] = [await createPerson(service, { cents: 20_000 }), await createPerson(service)];
    const { task, bid } = await awardedTask(buyer, bidder);
    const ada = await console.arrive("Ada");
    await ada.enterAs(buyer);
    await ada.open(`/tasks/${task.id}`);
    const facts = ada.page.locator("aside dt");
    await ada.sees("The work is under way");
    expect((await facts.allTextContents()).slice(0, 2)).toEqual(["Price", "Budget"]);
    expect(await facts.allTextContents()).toContain("Due");

    const { task: delivered } = await deliveredTask(buyer, bidder);
    await buyer.post(`/tasks/${delivered.id}/accept`);
    await ada.open(`/tasks/${delivered.id}`);
    await ada.sees(`You paid ${bidder.displayName} $${(bid.priceCents / 100).toFixed(2)}`);
    await ada.sees(`Rate ${bidder.displayName} below`);
    expect(await facts.allTextContents()).not.toContain("Due");
  });

  test("on a phone, what there is to do comes before everything that there is to read", async () => {
    const [buyer, bidder] = [await createPerson(service, { cents: 20_000 }), await createPerson(service)];
    const { task } = await deliveredTask(buyer, bidder);
    const ada = await console.arrive("Ada");
    await ada.page.setViewportSize({ width: 390, height: 844 });
    await ada.enterAs(buyer);
    await ada.open(`/tasks/${task.id}`);
    await ada.button("Accept and pay").waitFor();
    const top = async (selector: string) => (await ada.page.locator(selector).first().boundingBox())?.y ?? 0;
    const accept = await top("button:has-text('Accept and pay')");
    expect(accept).toBeLessThan(600);
    expect(accept).toBeLessThan(await top("aside"));
    expect(await top("aside")).toBeLessThan(await top("h2:has-text('Description')"));
  });

  test("the balance is drawn once several movements make a line, and the line ends at the balance", async () => {
    const buyer = await createPerson(service, { cents: 50_000 });
    const ada = await console.arrive("Ada");
    await ada.enterAs(buyer);
    await ada.open("/wallet");
    await ada.page.getByRole("list", { name: "Ledger" }).waitFor();
    const chart = ada.page.getByRole("img", { name: /^Balance from/ });
    expect(await chart.count()).toBe(0);
    for (const title of ["One", "Two", "Three"]) await postTask(buyer, { title });
    await chart.waitFor();
    // The last corner before the right edge of the plot is as high as the edge itself.
    const outline = (await chart.locator("path").first().getAttribute("d")) ?? "";
    const corners = outline
      .slice(1, -1)
      .split("L")
      .map((corner) => corner.split(" ").map(Number));
    const [edge, before] = [corners.at(-2), corners.at(-3)];
    expect(edge?.[0]).toBe(1000);
    expect(edge?.[1]).toBe(before?.[1]);
    expect(edge?.[1]).toBeLessThan(240);
  });

  test("home begins with what waits for this person, the soonest deadline first, with the money at stake", async () => {
    const [buyer, bidder] = [await createPerson(service, { cents: 50_000 }), await createPerson(service)];
    const chosen = await postTask(buyer, { title: "To choose for", maxBudgetCents: 9_000 });
    await placeBid(bidder, chosen.id, { priceCents: 8_000 });
    await deliveredTask(buyer, bidder);
    const ada = await console.arrive("Ada");
    await ada.enterAs(buyer);
    await ada.open("/");
    const waiting = ada.page.getByRole("list", { name: "Waiting for you" }).getByRole("listitem");
    await waiting.first().waitFor();
    expect(await waiting.allInnerTexts()).toEqual([
      // Which of the two depends on the seconds since the delivery.
      expect.stringMatching(/^Accept or dispute the delivery[\s\S]*\$80\.00\s*is paid in (2 days 0 h|1 day 23 h)$/),
      expect.stringMatching(/^Look at the bid\s*To choose for\s*\$90\.00\s*held$/),
    ]);
    await ada.isAccessible();
  });

  test("the ledger names the task that money is for", async () => {
    const buyer = await createPerson(service, { cents: 50_000 });
    await postTask(buyer, { title: "A task with a name" });
    const ada = await console.arrive("Ada");
    await ada.enterAs(buyer);
    await ada.open("/wallet");
    await ada.page.getByRole("list", { name: "Ledger" }).getByRole("link", { name: "A task with a name" }).waitFor();
  });

  test("bank details come before an amount: while they are missing or being checked, no payout is offered", async () => {
    const bo = await createPerson(service, { cents: 5_000 });
    const visitor = await console.arrive("Bo");
    await visitor.enterAs(bo);
    await visitor.open("/wallet/payouts");
    await visitor.sees("Your bank details are needed first");
    expect(await visitor.field("Amount").count()).toBe(0);
    const { url } = (await bo.post("/payouts/onboarding")).body;
    await fetch(url, { method: "POST", body: new URLSearchParams({ outcome: "leaves" }), redirect: "manual" });
    await visitor.open("/wallet/payouts?onboarding=done");
    await visitor.sees("Your details are being checked");
    expect(await visitor.field("Amount").count()).toBe(0);
    const again = (await bo.post("/payouts/onboarding")).body.url;
    await fetch(again, { method: "POST", body: new URLSearchParams({ outcome: "finishes" }), redirect: "manual" });
    await visitor.sees("Your bank details are complete");
    await visitor.field("Amount").waitFor();
    await visitor.isAccessible();
  });

  test("a session is shown with its browser and its place, as text whatever it calls itself", async () => {
    const person = await createPerson(service);
    const { email, password } = person;
    const userAgent = "<img src=x onerror=document.title=9>";
    await fetch(`${service.url}/auth/login`, {
      method: "POST",
      headers: { "content-type": "application/json", "user-agent": userAgent },
      body: JSON.stringify({ email, password }),
    });
    const visitor = await console.arrive("Owner");
    await visitor.open("/sign-in?to=/account");
    await visitor.signIn({ email, password });
    const sessions = visitor.page.getByRole("list", { name: "Sessions" }).getByRole("listitem");
    await sessions.first().waitFor();
    expect(await sessions.filter({ hasText: "This one" }).innerText()).toMatch(
      /^Chrome on Linux, seen[\s\S]*from 127\.0\.0\.1/,
    );
    await visitor.sees(userAgent);
    expect(await visitor.page.locator("img[src=x]").count()).toBe(0);
  });
});
