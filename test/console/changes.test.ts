import { beforeAll, describe, expect, test } from "vitest";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { deliveredTask } from "../factories/tasks.ts";
import { hasBrowser } from "../setup/browser.ts";
import { useService } from "../setup/testService.ts";
import { useConsole } from "./visitor.ts";

const service = useService();

describe.skipIf(!hasBrowser)("in a real browser", () => {
  const console = useConsole(service);
  let buyer: TestPerson;
  let bidder: TestPerson;

  beforeAll(async () => {
    buyer = await createPerson(service, { cents: 100_000 });
    bidder = await createPerson(service);
  });

  test("a buyer asks for changes, the bidder delivers again or declines, and each sees what happens otherwise", async () => {
    const { task } = await deliveredTask(buyer, bidder, { revisions: 2 });
    const [ada, bo] = [await console.arrive("Ada"), await console.arrive("Bo")];
    await ada.enterAs(buyer);
    await bo.enterAs(bidder);
    await bo.open(`/tasks/${task.id}`);
    await bo.sees("The buyer looks at your delivery");
    await ada.open(`/tasks/${task.id}`);
    await ada.button("Ask for changes").first().click();
    await ada.sees("You have 2 rounds, of the 2 of this task.");
    await ada.field("What must change?").fill("The second page lacks its footnotes.");
    await ada.confirm("Ask for changes");
    await ada.sees("You asked for changes");
    expect(await ada.button("Accept and pay").count()).toBe(0);

    await bo.sees("It is your turn: deliver again, or decline");
    await bo.sees("The second page lacks its footnotes.");
    await bo.heading("Changes, round 1 of 2").waitFor();
    const file = { name: "second.txt", mimeType: "text/plain", buffer: Buffer.from("with footnotes") };
    await bo.page.getByLabel(/Choose the delivery/).setInputFiles(file);
    await bo.button("Deliver this file").click();
    await bo.sees("The buyer looks at your delivery");

    await ada.heading("Versions of the delivery").waitFor();
    await ada.sees(/Version 1 was replaced/);
    await ada.sees("with footnotes");
    await ada.button("Ask for changes").first().click();
    await ada.sees("This is the last round, of the 2 of this task.");
    await ada.field("What must change?").fill("And the third page, too.");
    await ada.confirm("Ask for changes");
    await bo.heading("Changes, round 2 of 2").waitFor();
    await bo.button("Decline the changes").click();
    await bo.field("Why is it as agreed?").fill("The third page was never part of it.");
    await bo.confirm("Decline the changes");
    await ada.button("Accept and pay").waitFor();
    expect(await ada.button("Ask for changes").count()).toBe(0);
  });

  test("a task is posted with rounds of changes, which bidders see", async () => {
    const [ada, bo] = [await console.arrive("Ada"), await console.arrive("Bo")];
    await ada.enterAs(buyer);
    await bo.enterAs(bidder);
    await ada.open("/post");
    await ada.field("Title").fill("Draw a map");
    await ada.field(/^Description/).fill("Of the harbour.");
    await ada.field("Budget").fill("20");
    await ada.field(/^Rounds of changes/).selectOption("3");
    await ada.button("Post the task").click();
    await ada.heading("Draw a map").waitFor();
    await bo.open(new URL(ada.page.url()).pathname.replace("/app", ""));
    await bo.page.getByText("Rounds of changes").waitFor();
    const fact = bo.page.locator("dl > div", { hasText: "Rounds of changes" });
    expect(await fact.innerText()).toMatch(/3$/);
  });
});
