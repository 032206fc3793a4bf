import type { Locator } from "playwright-core";
import { describe, expect, test } from "vitest";
import { sql } from "../../server/store/connection.ts";
import { createPerson } from "../factories/people.ts";
import { placeBid, postTask } from "../factories/tasks.ts";
import { hasBrowser } from "../setup/browser.ts";
import { useService } from "../setup/testService.ts";
import { useConsole, type Visitor } from "./visitor.ts";

const service = useService({ worker: true });

const money = async ({ email }: Visitor) => {
  const [row] = await service.services.database.query(sql`
    SELECT w.available_cents AS available, w.held_cents AS held,
           (SELECT count(*) FROM tasks t WHERE t.buyer_id = u.id) AS tasks,
           (SELECT count(*) FROM topups t WHERE t.user_id = u.id) AS topups
    FROM wallets w JOIN users u ON u.id = w.user_id WHERE u.email = ${email}`);
  return row;
};

/** Two clicks faster than any page could react to the first. */
const clickTwice = (button: Locator) =>
  button.evaluate((element: { click(): void }) => {
    element.click();
    element.click();
  });

describe.skipIf(!hasBrowser)("in a real browser", () => {
  const console = useConsole(service);

  test("a double click, a lost answer, a reload and a lost network move money once", async () => {
    const ada = await console.arrive("Ada");
    const { page, context } = ada;
    await ada.signUp();
    // The first answer is lost: the checkout that was opened is found again. A busy service may be asked more often.
    const keys: (string | undefined)[] = [];
    await page.route("**/trpc/wallet.topup", async (route) => {
      const response = await route.fetch();
      keys.push(route.request().headers()["idempotency-key"]);
      return keys.length === 1 ? route.abort() : route.fulfill({ response });
    });
    await ada.open("/wallet/top-up");
    await ada.field("Amount").fill("20");
    await clickTwice(ada.button("Go to the checkout"));
    const pay = page.getByRole("button", { name: /^Pay/ });
    await pay.waitFor();
    expect(keys.length).toBeGreaterThan(1);
    expect(new Set(keys)).toEqual(new Set([expect.stringMatching(/./)]));
    await page.goBack();
    await ada.heading("Top up").waitFor();
    await page.goForward();
    await pay.waitFor();
    // The network is lost in mid-payment.
    await context.setOffline(true);
    await pay.click();
    await page.waitForURL("chrome-error://**");
    await context.setOffline(false);
    await page.goBack();
    await clickTwice(pay);
    await ada.sees("has arrived");
    await page.reload();
    await ada.sees("has arrived");
    expect(await money(ada)).toEqual({ available: 2_000, held: 0, tasks: 0, topups: 1 });

    await ada.open("/post");
    await ada.field("Title").fill("Once only");
    await ada.field(/^Description/).fill("All of it.");
    await ada.field("Budget").fill("5");
    // The answer is lost, and the page is reloaded while it waits: the text and the key are still there.
    let lost = 0;
    await page.route("**/trpc/tasks.create", async (route) => {
      lost++;
      await route.fetch();
      await route.abort();
    });
    await ada.button("Post the task").click();
    await expect.poll(() => lost).toBeGreaterThan(0);
    await page.reload();
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await expect.poll(() => ada.field("Title").inputValue()).toBe("Once only");
    await clickTwice(ada.button("Post the task"));
    await ada.heading("Once only").waitFor();
    expect(await money(ada)).toEqual({ available: 1_500, held: 500, tasks: 1, topups: 1 });

    await ada.button("Cancel the task").click();
    await context.setOffline(true);
    await ada.sees("You are offline");
    await ada.confirm("Cancel the task");
    await ada.sees("Waiting for the network…");
    await context.setOffline(false);
    await page.getByText("Cancelled", { exact: true }).waitFor();
    expect(await money(ada)).toEqual({ available: 2_000, held: 0, tasks: 1, topups: 1 });
  });

  test("once a task is posted, a reload of a page that is still reading offers an empty form", async () => {
    const buyer = await createPerson(service, { cents: 10_000 });
    const visitor = await console.arrive("Buyer");
    const { page } = visitor;
    await visitor.enterAs(buyer);
    // After the answer, whatever is read again hangs. Set before the page is opened: Chromium may let the next requests of an
    // open one pass.
    const posted = Promise.withResolvers<void>();
    let isPosting = false;
    await page.route("**/trpc/**", async (route) => {
      if (route.request().url().includes("tasks.create")) {
        isPosting = true;
        await route.fulfill({ response: await route.fetch() });
        posted.resolve();
      } else if (!isPosting) await route.continue();
    });
    await visitor.open("/post");
    await visitor.field("Title").fill("Once only");
    await visitor.field(/^Description/).fill("All of it.");
    await visitor.field("Budget").fill("5");
    const isReading = page.waitForRequest(/wallet\.read/);
    await visitor.button("Post the task").click();
    await Promise.all([posted.promise, isReading]);
    await page.reload();
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await visitor.button("Post the task").waitFor();
    expect(await visitor.field("Title").inputValue()).toBe("");
  });

  test("where the event stream cannot be reached, changes appear by polling", async () => {
    const buyer = await createPerson(service, { cents: 10_000 });
    const bidder = await createPerson(service);
    const task = await postTask(buyer);
    const visitor = await console.arrive("Buyer");
    const { page } = visitor;
    await visitor.enterAs(buyer);
    let attempts = 0;
    await page.route(/events\.stream/, (route) => {
      attempts++;
      return route.abort();
    });
    await page.clock.install();
    await visitor.open(`/tasks/${task.id}`);
    await visitor.sees("No bids yet");
    await expect.poll(() => attempts).toBeGreaterThan(0);
    await placeBid(bidder, task.id);
    await page.clock.fastForward(16_000);
    await visitor.button("Award").waitFor();
  });

  test("a signed-out person signs in and is where they were; two tabs agree about who is here and what happened", async () => {
    const ada = await console.arrive("Ada");
    const { page, context } = ada;
    await ada.signUp();
    const tab = await context.newPage();
    ada.watch(tab);
    await tab.goto(new URL("/app/wallet", page.url()).href);
    await tab.getByRole("heading", { name: "Wallet" }).waitFor();
    await page.getByRole("button", { name: "Account of Ada" }).click();
    await ada.button("Sign out").click();
    await ada.link("Sign in").waitFor();
    await tab.getByRole("heading", { name: "Sign in" }).waitFor();

    await ada.open("/keys");
    await ada.heading("Sign in").waitFor();
    await ada.signIn();
    await ada.heading("API keys").waitFor();
    await tab.getByRole("button", { name: "Account of Ada" }).waitFor();

    await tab.goto(new URL("/app/wallet", page.url()).href);
    await tab.getByText("No money has moved yet").waitFor();
    await ada.topUp("15");
    await tab.locator("main").getByText("$15.00").first().waitFor();

    // No link to the sign-in page leads elsewhere.
    await page.goto(new URL("/app/sign-in?to=//example.com", page.url()).href);
    await ada.signIn();
    await ada.heading("Hello, Ada").waitFor();
  });
});
