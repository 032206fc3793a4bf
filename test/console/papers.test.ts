import { readFile, writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { createPayee, requestPayout } from "../factories/payouts.ts";
import { createPerson } from "../factories/people.ts";
import { deliveredTask, taskInput } from "../factories/tasks.ts";
import { paidTopup, quiet } from "../factories/topups.ts";
import { hasBrowser } from "../setup/browser.ts";
import { eventually } from "../setup/processorControl.ts";
import { useService } from "../setup/testService.ts";
import { useConsole, type Visitor } from "./visitor.ts";

const service = useService({ worker: true });

/** Keeps a picture of the page, where somebody wants to look at it. */
async function picture({ page }: Visitor, name: string): Promise<void> {
  const folder = process.env.PICTURES;
  if (folder !== undefined) await writeFile(`${folder}/${name}.png`, await page.screenshot({ fullPage: true }));
}

/** Looks at the page in both themes and on a phone. */
async function look(visitor: Visitor, name: string): Promise<void> {
  const { page } = visitor;
  for (const [colorScheme, width] of [
    ["light", 1280],
    ["dark", 1280],
    ["dark", 375],
    ["light", 375],
  ] as const) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 900 });
    await visitor.fits();
    await picture(visitor, `${name}-${colorScheme}-${width}`);
  }
  await page.setViewportSize({ width: 1280, height: 900 });
  await visitor.isAccessible();
}

/** The file that a press downloads: its name, and how it begins. */
async function taken(visitor: Visitor, press: () => Promise<void>) {
  const [download] = await Promise.all([visitor.page.waitForEvent("download"), press()]);
  const content = await readFile(await download.path());
  return { name: download.suggestedFilename(), content, start: content.subarray(0, 5).toString() };
}

const receiptName = /^receipt-\d{4}-\d{6}\.pdf$/;

describe.skipIf(!hasBrowser)("in a real browser", () => {
  const console = useConsole(service);

  test("every payment has a receipt beside it: a top-up, a task on both sides, and a payout that the bank has", async () => {
    const [buyer, payee] = [await createPerson(service), await createPayee(service)];
    await paidTopup(service, buyer, 20_000);
    await quiet(service);
    const { task } = await deliveredTask(buyer, payee, { priceCents: 8_000 });
    await buyer.post(`/tasks/${task.id}/accept`);
    await requestPayout(payee, 2_000);
    await eventually(
      () => payee.get("/payouts"),
      ({ body }) => body.payouts[0].status === "paid",
    );

    const ada = await console.arrive("Ada");
    await ada.enterAs(buyer);
    await ada.open("/wallet");
    const ofTopup = await taken(ada, () => ada.button("Receipt: Top-up, $200.00").click());
    expect([ofTopup.name, ofTopup.start]).toEqual([expect.stringMatching(receiptName), "%PDF-"]);
    const ofTask = await taken(ada, () => ada.button("Receipt: Paid for a task, $80.00").click());
    expect(ofTask.start).toBe("%PDF-");
    // What has none offers none.
    expect(await ada.page.getByRole("button", { name: /^Receipt/ }).count()).toBe(2);
    // Without a fee, nothing speaks of one.
    expect(await ada.page.getByRole("option", { name: /fee/i }).count()).toBe(0);
    await look(ada, "wallet");

    const bo = await console.arrive("Bo");
    await bo.enterAs(payee);
    await bo.open("/wallet");
    const ofEarning = await taken(bo, () => bo.button("Receipt: Earned with a task, $80.00").click());
    expect(ofEarning.name).toBe(ofTask.name);
    await bo.open("/wallet/payouts");
    const ofPayout = await taken(bo, () => bo.button("Receipt: payout of $20.00").click());
    expect(ofPayout.name).toMatch(receiptName);
    await look(bo, "payouts");
  });

  test("the ledger and each month are downloaded in the format that somebody chooses, also by keyboard", async () => {
    const [buyer, bidder] = [await createPerson(service, { cents: 20_000 }), await createPerson(service)];
    const { task } = await deliveredTask(buyer, bidder, { priceCents: 8_000 });
    await buyer.post(`/tasks/${task.id}/accept`);
    const ada = await console.arrive("Ada");
    await ada.enterAs(buyer);
    await ada.open("/wallet/statements");
    await ada.sees(/this month is not over/);
    const menu = ada.button(/^Download the statement of/);
    await look(ada, "statements");
    // On a phone, the menu is within the window, and so is what the page becomes by it.
    await ada.page.setViewportSize({ width: 375, height: 900 });
    await menu.click();
    const box = await ada.button(/^PDF/).boundingBox();
    expect([box && box.x >= 0, box && box.x + box.width <= 375]).toEqual([true, true]);
    await ada.fits();
    await picture(ada, "statements-menu-375");
    await ada.page.keyboard.press("Escape");
    await ada.page.setViewportSize({ width: 1280, height: 900 });
    const pdf = await taken(ada, async () => {
      await menu.focus();
      for (const key of ["Enter", "Tab", "Enter"]) await ada.page.keyboard.press(key);
    });
    expect([pdf.name, pdf.start]).toEqual([expect.stringMatching(/^statement-\d{4}-\d{2}\.pdf$/), "%PDF-"]);
    const json = await taken(ada, async () => {
      await menu.click();
      await ada.button(/^JSON/).click();
    });
    const [month] = (await buyer.get("/wallet/statements")).body.statements;
    expect(JSON.parse(json.content.toString())).toEqual(month);
    await ada.follow("/wallet");
    const csv = await taken(ada, async () => {
      await ada.button("Download the ledger").click();
      await ada.button(/^CSV/).click();
    });
    expect(csv.name).toMatch(/^ledger-.*\.csv$/);
    expect(csv.content.toString()).toContain("task_payment");
  });

  test("whoever lacks the money posts and pays with one button, and comes back to the posted task", async () => {
    const ada = await console.arrive("Ada");
    await ada.signUp();
    await ada.open("/post");
    await ada.field("Title").fill("Translate a menu");
    await ada.field(/^Description/).fill("Two dishes.");
    await ada.field("Budget").fill("40");
    await ada.sees("You pay at the checkout");
    await look(ada, "post");
    await ada.field("Title").fill("");
    await ada.button("Post and pay $40.00").click();
    await expect.poll(() => ada.field("Title").getAttribute("aria-invalid")).toBe("true");
    await ada.field("Title").fill("Translate a menu");
    await ada.button("Post and pay $40.00").click();
    await ada.page.getByRole("link", { name: /cancel|back/i }).click();
    await ada.sees("Nothing was paid");
    await look(ada, "cancelled");
    await ada.link("go on with it").click();
    await expect.poll(() => ada.field("Budget").inputValue()).toBe("40");
    await ada.button("Post and pay $40.00").click();
    await ada.page.getByRole("button", { name: /^Pay/ }).click();
    await ada.heading("Translate a menu").waitFor();
    expect(new URL(ada.page.url()).pathname).toMatch(/^\/app\/tasks\//);
    await ada.open("/post");
    await expect.poll(() => ada.field("Title").inputValue()).toBe("");
  });

  test("if the task can no longer be posted, the page says why, and that the money is there", async () => {
    const person = await createPerson(service, { cents: 3_000 });
    const ada = await console.arrive("Ada");
    await ada.enterAs(person);
    await ada.open("/post");
    await ada.field("Title").fill("Translate a menu");
    await ada.field(/^Description/).fill("Two dishes.");
    await ada.field("Budget").fill("80");
    await ada.button("Post and pay $50.00").click();
    const pay = ada.page.getByRole("button", { name: /^Pay/ });
    await pay.waitFor();
    await person.post("/tasks", taskInput({ title: "Another", maxBudgetCents: 3_000 }));
    await pay.click();
    await ada.sees("$50.00 has arrived, but your task was not posted");
    await ada.sees(/Something else has used a part of the money/);
    await look(ada, "not-posted");
    await ada.link("look at it").click();
    await expect.poll(() => ada.field("Title").inputValue()).toBe("Translate a menu");
  });
});
