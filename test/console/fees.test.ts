import { writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { withdrawFees } from "../../server/market/fees/withdrawals.ts";
import { setFee } from "../factories/fees.ts";
import { createModerator } from "../factories/moderators.ts";
import { createPerson } from "../factories/people.ts";
import { deliveredTask, postTask } from "../factories/tasks.ts";
import { hasBrowser } from "../setup/browser.ts";
import { useService } from "../setup/testService.ts";
import { useConsole, type Visitor } from "./visitor.ts";

const service = useService();

/** Newest first, and a month without a fee is not among them. */
const year = [
  ...[930, 720, 810, 500, 460].map((dollars, index) => month(`2026-${String(11 - index).padStart(2, "0")}`, dollars)),
  month("2026-05", 300),
  month("2026-04", 120, 600),
  month("2026-03", 240),
  month("2026-02", 90),
  month("2026-01", 60),
  month("2025-12", 20),
  month("2025-11", 10),
];

function month(name: string, earnedDollars: number, withdrawnDollars = 0) {
  return { month: name, earnedCents: earnedDollars * 100, withdrawnCents: withdrawnDollars * 100 };
}

/** Keeps a picture of the page, where somebody wants to look at it. */
async function picture(visitor: Visitor, name: string): Promise<void> {
  const folder = process.env.PICTURES;
  if (folder !== undefined) await writeFile(`${folder}/${name}.png`, await visitor.page.screenshot({ fullPage: true }));
}

describe.skipIf(!hasBrowser)("in a real browser", () => {
  const console = useConsole(service);

  test("nobody is surprised by a fee: bidder, buyer and operator see it where it counts", async () => {
    const [buyer, bidder] = [await createPerson(service, { cents: 50_000 }), await createPerson(service)];
    const open = await postTask(buyer);

    const bo = await console.arrive("Bo");
    await bo.enterAs(bidder);
    await bo.open(`/tasks/${open.id}`);
    await bo.field("Price").fill("80");
    await bo.sees(/There are no fees/);

    await setFee(service);
    await bo.open(`/tasks/${open.id}`);
    await bo.field("Price").fill("80");
    await bo.sees("The platform's fee");
    await bo.sees("−$8.00");
    await bo.sees("$72.00");
    await bo.sees(/10 % of the price, at least \$1\.00, at most \$50\.00/);
    await picture(bo, "bid");
    await bo.field("Hours until the delivery").fill("24");
    await bo.button("Place the bid").click();
    await bo.sees("Your bid");
    await bo.sees("You get");

    const ada = await console.arrive("Ada");
    await ada.enterAs(buyer);
    await ada.open(`/tasks/${open.id}`);
    await ada.button("Award").click();
    await ada.sees(/The bidder pays the platform a fee/);
    await ada.page.keyboard.press("Escape");
    expect(await ada.page.getByText("−$8.00").count()).toBe(0);

    const { task } = await deliveredTask(buyer, bidder);
    await buyer.post(`/tasks/${task.id}/accept`);
    await bo.open("/wallet/statements");
    const row = (name: string) => bo.page.getByRole("row", { name });
    await expect.poll(() => row("Earned with a task").innerText()).toContain("+$80.00");
    expect(await row("The platform's fee").innerText()).toContain("−$8.00");
    expect(await row("Is now").innerText()).toMatch(/\$72\.00\s+\$0\.00/);
    await bo.sees("The platform's fees are $8.00, with $1.27 tax in them.");
    await picture(bo, "statements");

    await withdrawFees(service.services.database, 300, "po_1");
    const moe = await console.arrive("Moe");
    await moe.enterAs(await createModerator(service));
    await moe.open("/moderation/operations");
    await moe.heading("The platform's fee").waitFor();
    await moe.sees("Earned and not withdrawn");
    await moe.sees("$5.00");
    await moe.sees("$8.00 earned, $3.00 withdrawn");
    await moe.sees("po_1");
    await moe.sees(/since .*, with 19 % tax in it/);
    await moe.isAccessible();
    await picture(moe, "operations");
    for (const visitor of [bo, ada, moe]) expect(visitor.problems).toEqual([]);
  });

  test("who bids and who moderates read which fee is coming; a year of fees is a chart, with its figures", async () => {
    const [buyer, bidder] = [await createPerson(service, { cents: 50_000 }), await createPerson(service)];
    const open = await postTask(buyer);
    await setFee(service, { basisPoints: 700, minCents: 0, maxCents: null, from: "2099-01-02T12:00:00.000000Z" });
    const bo = await console.arrive("Bo");
    await bo.enterAs(bidder);
    await bo.open(`/tasks/${open.id}`);
    await bo.field("Price").fill("80");
    await bo.sees(/A price that is set from Jan 2, 2099 on pays another fee: 7 % of the price\./);

    const moe = await console.arrive("Moe");
    await moe.enterAs(await createModerator(service));
    await moe.page.route(/operations\.read/, async (route) => {
      const response = await route.fetch();
      const answers: { result: { data: { fees?: object } } }[] = await response.json();
      for (const { result } of answers) if (result.data.fees) Object.assign(result.data.fees, { months: year });
      await route.fulfill({ response, json: answers });
    });
    await moe.open("/moderation/operations");
    await moe.sees("Coming");
    await moe.page.getByRole("img", { name: /^Fees of 12 months, at most \$1,000\.00 in one/ }).waitFor();
    // Which month is shown, before somebody points at one.
    await moe.sees("Earned $930.00");
    await moe.page.getByText("Figures by month").click();
    await moe.sees("$120.00 earned, $600.00 withdrawn");
    for (const [colorScheme, width] of [
      ["light", 1280],
      ["dark", 1280],
      ["dark", 375],
    ] as const) {
      await moe.page.emulateMedia({ colorScheme });
      await moe.page.setViewportSize({ width, height: 900 });
      await moe.fits();
      await picture(moe, `fees-${colorScheme}-${width}`);
    }
    await moe.isAccessible();
  });
});
