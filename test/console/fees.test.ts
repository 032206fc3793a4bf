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
});
