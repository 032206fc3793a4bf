import { beforeAll, describe, expect, test } from "vitest";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { awardedTask, deliveredTask } from "../factories/tasks.ts";
import { hasBrowser } from "../setup/browser.ts";
import { useService } from "../setup/testService.ts";
import { useConsole, type Visitor } from "./visitor.ts";

const service = useService();

describe.skipIf(!hasBrowser)("in a real browser", () => {
  const console = useConsole(service);
  let buyer: TestPerson;
  let bidder: TestPerson;

  beforeAll(async () => {
    buyer = await createPerson(service, { cents: 100_000 });
    bidder = await createPerson(service);
  });

  const both = async () => {
    const [ada, bo] = [await console.arrive("Ada"), await console.arrive("Bo")];
    await ada.enterAs(buyer);
    await bo.enterAs(bidder);
    return { ada, bo };
  };
  /** Unfolds what few need, and presses a button in it. */
  const press = async ({ page, button }: Visitor, name: string) => {
    const ways = page.locator("details", { hasText: "If it turns out differently" });
    await ways.waitFor();
    if ((await ways.getAttribute("open")) === null) await ways.locator("summary").click();
    await button(name).click();
  };
  const wallet = async ({ get }: TestPerson) => (await get("/wallet")).body;

  test("a bidder asks for more time, which counts once the buyer has accepted it", async () => {
    const { task } = await awardedTask(buyer, bidder);
    const { ada, bo } = await both();
    await ada.open("/");
    await bo.open(`/tasks/${task.id}`);
    await press(bo, "Ask for more time");
    await bo.field("New due time").fill("2020-01-01T10:00");
    await bo.field("Why?").fill("I was ill for a week.");
    await bo.confirm("Propose it");
    await bo.sees(/must be later than now/);
    const due = new Date(Date.parse(task.deliveryDueAt) + 2 * 86_400_000);
    due.setSeconds(0, 0);
    const local = new Date(due.getTime() - due.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
    await bo.field("New due time").fill(local);
    await bo.confirm("Propose it");
    await bo.heading("You propose more time").waitFor();
    expect(await bo.button("Accept").count()).toBe(0);

    await ada.sees(/^lapses in/);
    await ada.link("Answer the proposal").click();
    await ada.sees("I was ill for a week.");
    await ada.isAccessible();
    await ada.button("Accept").click();
    await ada.confirm("Accept the proposal");
    await ada.heading(/proposes more time/).waitFor({ state: "detached" });
    const { body } = await buyer.get(`/tasks/${task.id}`);
    expect(body.task.status).toBe("awarded");
    expect(new Date(body.task.deliveryDueAt)).toEqual(due);
  });

  test("a buyer proposes to settle, and both see the money before and after; a proposal may be withdrawn or declined", async () => {
    const { task } = await deliveredTask(buyer, bidder);
    const { ada, bo } = await both();
    await ada.open(`/tasks/${task.id}`);
    await bo.open(`/tasks/${task.id}`);
    await press(ada, "Propose to cancel");
    await ada.field("Why?").fill("Nobody needs it any more.");
    await ada.confirm("Propose it");
    await ada.button("Withdraw").click();
    await ada.confirm("Withdraw the proposal");
    await press(bo, "Propose to cancel");
    await bo.field("Why?").fill("I would rather not be paid for this.");
    await bo.confirm("Propose it");
    await ada.button("Decline").click();
    await ada.confirm("Decline the proposal");

    await press(ada, "Propose to settle");
    await ada.field(/is paid$/).fill("90");
    await ada.field("Why?").fill("Half of it is what I asked for.");
    await ada.confirm("Propose it");
    await ada.page.locator("[name=bidderCents][aria-invalid=true]").waitFor();
    await ada.field(/is paid$/).fill("30");
    await ada.page.getByRole("alertdialog").getByText("$50.00").waitFor();
    await ada.confirm("Propose it");
    await ada.heading("You propose to settle").waitFor();

    await bo.sees("You are then paid");
    const [before, held] = [await wallet(bidder), await wallet(buyer)];
    await bo.button("Accept").click();
    await bo.page.getByRole("alertdialog").getByText("$30.00").waitFor();
    await bo.confirm("Accept the proposal");
    await bo.sees("You both agreed on how this task ends");
    await bo.sees(/with \$30.00 for the bidder/);
    await ada.sees("You both agreed on how this task ends");
    expect((await wallet(bidder)).availableCents).toBe(before.availableCents + 3_000);
    expect((await wallet(buyer)).availableCents).toBe(held.availableCents + 5_000);
    await bo.open(`/users/${bidder.id}`);
    await bo.sees("Ended by agreement");
  });

  test("giving a task back asks twice, and the profile names it", async () => {
    const { task } = await awardedTask(buyer, bidder);
    const { ada, bo } = await both();
    await bo.open(`/tasks/${task.id}`);
    await press(bo, "Give the task back");
    await bo.field("Why?").fill("I cannot do this in time after all.");
    await bo.confirm("Give it back");
    await bo.sees("Tick this if you are sure.");
    expect((await buyer.get(`/tasks/${task.id}`)).body.task.status).toBe("awarded");
    await bo.field("I give up this task and its price").check();
    await bo.confirm("Give it back");
    await bo.sees("You gave this task back");
    await ada.open(`/tasks/${task.id}`);
    await ada.sees(/gave this task back/);
    await ada.open(`/users/${bidder.id}`);
    await ada.sees("Given back before delivery");
  });

  test("a dispute can be settled by its parties, in either's own words", async () => {
    const { task } = await deliveredTask(buyer, bidder);
    await buyer.post(`/tasks/${task.id}/dispute`, { reason: "The second half is missing." });
    const { ada, bo } = await both();
    await ada.open(`/tasks/${task.id}`);
    await bo.open(`/tasks/${task.id}`);
    expect(await bo.button("Propose to cancel").count()).toBe(0);
    await press(bo, "Propose to settle");
    await bo.field("Why?").fill("The first half was as agreed.");
    await bo.confirm("Propose it");
    await ada.button("Accept").click();
    await ada.sees("which nobody loses");
    await ada.confirm("Accept the proposal");
    await ada.sees("Both sides agreed on this.");
  });
});
