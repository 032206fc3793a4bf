import { beforeAll, describe, expect, test } from "vitest";
import { createModerator } from "../factories/moderators.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { postTask } from "../factories/tasks.ts";
import { hasBrowser } from "../setup/browser.ts";
import { useService } from "../setup/testService.ts";
import { useConsole } from "./visitor.ts";

const service = useService();

describe.skipIf(!hasBrowser)("in a real browser", () => {
  const console = useConsole(service);
  let buyer: TestPerson;
  let bidder: TestPerson;
  let moderator: TestPerson;

  beforeAll(async () => {
    buyer = await createPerson(service, { cents: 100_000 });
    bidder = await createPerson(service);
    moderator = await createModerator(service);
  });

  test("a question and its answer appear at the other side at once, in the place where they were asked", async () => {
    const { id } = await postTask(buyer);
    const [asker, answerer] = [await console.arrive("Asker"), await console.arrive("Answerer")];
    await asker.enterAs(bidder);
    await answerer.enterAs(buyer);
    await answerer.open(`/tasks/${id}`);
    await answerer.heading("Bids").waitFor();
    // Buyers are not offered to ask themselves.
    expect(await answerer.heading("Questions").count()).toBe(0);

    await asker.open(`/tasks/${id}`);
    await asker.button("Ask a question").click();
    await asker.field("Your question").fill("Which Finnish:\nwritten or spoken?");
    await asker.page.reload();
    expect(await asker.field("Your question").inputValue()).toBe("Which Finnish:\nwritten or spoken?");
    await asker.button("Ask the buyer").click();
    await asker.sees("Not answered");
    await expect.poll(() => asker.field("Your question").count()).toBe(0);
    expect(await asker.button("Answer").count()).toBe(0);

    await answerer.sees(/Which Finnish:\s+written or spoken\?/);
    await answerer.button("Answer").click();
    await answerer.field("Your answer").fill("Spoken.");
    await answerer.button("Publish the answer").click();
    await asker.page.getByText("Spoken.", { exact: true }).waitFor();
    expect(await asker.page.getByText("Not answered").count()).toBe(0);

    await answerer.button("Change the answer").click();
    expect(await answerer.field("Your answer").inputValue()).toBe("Spoken.");
    await answerer.field("Your answer").fill("Written, after all.");
    await answerer.button("Publish the answer").click();
    await asker.page.getByText("Written, after all.", { exact: true }).waitFor();
    await asker.sees(/, changed/);
  });

  test("addresses and tags in questions and answers are text; a visitor reads them, without who asked", async () => {
    const { id } = await postTask(buyer);
    const text = "**Look**: https://evil.example <b>now</b> [here](https://evil.example)";
    const { question } = (await bidder.post(`/tasks/${id}/questions`, { text })).body;
    await buyer.post(`/questions/${question.id}/answer`, { text: `Answer: ${text}` });
    const visitor = await console.arrive("Visitor");
    await visitor.open(`/tasks/${id}`);
    const thread = visitor.page.getByRole("list", { name: "Questions" });
    await thread.getByText(text, { exact: true }).waitFor();
    await thread.getByText(`Answer: ${text}`, { exact: true }).waitFor();
    expect(await thread.getByRole("link").count()).toBe(0);
    await thread.getByText("Somebody").waitFor();
    expect(await visitor.button("Ask a question").count()).toBe(0);
  });

  test("a moderator removes a question, of which only its place stays", async () => {
    const { id } = await postTask(buyer);
    for (const text of ["Call me at 555 0100.", "How many words?"])
      await bidder.post(`/tasks/${id}/questions`, { text });
    const mo = await console.arrive("Mo");
    await mo.enterAs(moderator);
    await mo.open(`/tasks/${id}`);
    const first = mo.page.getByRole("listitem").filter({ hasText: "555 0100" });
    await first.getByRole("button", { name: "Remove" }).click();
    await mo.field("Reason").fill("A telephone number.");
    await mo.confirm("Remove the question");
    await mo.sees("A moderator removed a question");
    expect(await mo.page.getByText("555 0100").count()).toBe(0);
    await mo.sees("How many words?");
  });
});
