import { createHash } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../server/store/connection.ts";
import { addBriefFile, addShared } from "../factories/conversation.ts";
import { createModerator, makeModerator } from "../factories/moderators.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { deliver, disputedTask, disputeReason, placeBid, postTask } from "../factories/tasks.ts";
import { hasBrowser } from "../setup/browser.ts";
import { useService } from "../setup/testService.ts";
import { useConsole, type Visitor } from "./visitor.ts";

const service = useService();

const hashOf = (text: string) => createHash("sha256").update(text).digest("hex");
const hostile = "<b>Look</b>: https://evil.example [here](https://evil.example)";

/** Buyer and bidder have talked about everything, and disagree. Returns what they disputed. */
async function disputedAfterTalk(buyer: TestPerson, bidder: TestPerson, visitor: TestPerson) {
  const brief = { title: "Translate two pages", description: "Both pages.", acceptanceCriteria: "It reads well." };
  const task = await postTask(buyer, { ...brief, revisions: 2 });
  await addBriefFile(buyer, task.id, "This is page one.", { fileName: "page.txt", visibility: "awarded" });
  const { question } = (await visitor.post(`/tasks/${task.id}/questions`, { text: "Which Finnish?" })).body;
  const bid = await placeBid(bidder, task.id);
  await bidder.post(`/bids/${bid.id}/messages`, { text: hostile });
  await buyer.post(`/questions/${question.id}/answer`, { text: "Spoken." });
  const removed = (await bidder.post(`/tasks/${task.id}/questions`, { text: "Call me at 555 0100?" })).body.question;
  await buyer.post(`/tasks/${task.id}/award`, { bidId: bid.id });
  const file = await addShared(bidder, `/bids/${bid.id}`, "A first draft.", { fileName: "draft.txt" });
  await bidder.post(`/bids/${bid.id}/messages`, { text: "Here is a draft.", fileIds: [file.id] });
  await deliver(bidder, bid.id);
  await buyer.post(`/tasks/${task.id}/request-changes`, { reason: "The footnotes are missing." });
  await bidder.post(`/tasks/${task.id}/decline-changes`, { reason: "Footnotes were not agreed on." });
  const { dispute } = (await buyer.post(`/tasks/${task.id}/dispute`, { reason: disputeReason })).body;
  const { acceptanceCriteria, description, title } = brief;
  return { task, dispute, removed, hash: hashOf(JSON.stringify({ acceptanceCriteria, description, title })) };
}

/** What the record's list of statements has, without the times. */
const said = ({ page }: Visitor) =>
  page.getByRole("list", { name: "What was said" }).locator(":scope > li > header > span").allTextContents();

describe.skipIf(!hasBrowser)("in a real browser", () => {
  const console = useConsole(service);
  let buyer: TestPerson;
  let bidder: TestPerson;
  let visitor: TestPerson;

  beforeAll(async () => {
    buyer = await createPerson(service, { cents: 100_000 });
    bidder = await createPerson(service);
    visitor = await createPerson(service);
  });

  test("a moderator sees exactly what was agreed, changed and said, and both sides see the same and what they are asked", async () => {
    const moderator = await createModerator(service);
    const { task, dispute, removed, hash } = await disputedAfterTalk(buyer, bidder, visitor);
    await moderator.delete(`/questions/${removed.id}`, { reason: "A telephone number." });
    const [mo, bo] = [await console.arrive("Mo"), await console.arrive("Bo")];
    await mo.enterAs(moderator);
    await bo.enterAs(bidder);
    await mo.open(`/moderation/disputes/${dispute.id}`);

    await mo.page.getByText(hash, { exact: true }).waitFor();
    await mo.page.getByText("This is page one.", { exact: true }).waitFor();
    await mo.page.getByText(hashOf("This is page one."), { exact: true }).waitFor();
    const rounds = mo.page.getByRole("list", { name: "Rounds of changes" }).getByRole("listitem");
    expect(await rounds.allInnerTexts()).toEqual([
      expect.stringMatching(
        /^Round 1, due [\s\S]*The footnotes are missing\.[\s\S]*The bidder declined:[\s\S]*Footnotes were not agreed on\.$/,
      ),
    ]);
    const statements = [
      `${visitor.displayName}, interested in the task, asked:`,
      `${bidder.displayName}, the bidder, wrote:`,
      `${buyer.displayName}, the buyer, answered:`,
      `${bidder.displayName}, the bidder, asked:`,
      `${bidder.displayName}, the bidder, wrote:`,
    ];
    expect(await said(mo)).toEqual(statements);
    const record = mo.page.getByRole("list", { name: "What was said" });
    await record.getByText(hostile, { exact: true }).waitFor();
    expect(await record.getByRole("link", { name: /evil|here/ }).count()).toBe(0);
    await record.getByText("A moderator removed this question.").waitFor();
    await record.getByText("A first draft.", { exact: true }).waitFor();
    await mo.isAccessible();

    // The other side finds the same from the task's page, and what the moderator asks appears in it.
    await bo.open(`/tasks/${task.id}`);
    await bo.link("See what it is decided by").click();
    await bo.heading("The record of the dispute").waitFor();
    await bo.page.getByText(hash, { exact: true }).waitFor();
    expect(await said(bo)).toEqual(statements);
    expect(await bo.page.getByRole("slider").count()).toBe(0);
    await mo.page.getByRole("textbox", { name: "Message" }).fill("Where are the footnotes?");
    await mo.button("Send").click();
    await bo.page.getByText("Where are the footnotes?", { exact: true }).waitFor();
    expect(await said(bo)).toEqual([...statements, `${moderator.displayName}, a moderator, wrote:`]);
    await bo.isAccessible();
    await bo.page.setViewportSize({ width: 390, height: 800 });
    await bo.fits();

    await moderator.post(`/disputes/${dispute.id}/resolve`, { resolution: "refund" });
    await bo.sees("All of it was returned.");
    expect(await said(bo)).toHaveLength(6);
    await mo.page.reload();
    await mo.sees("All of it was returned.");
    expect(await mo.page.getByRole("textbox", { name: "Message" }).count()).toBe(0);
  });

  test("a moderator sees the newest message of either side before long, and who is which side", async () => {
    const moderator = await createModerator(service);
    const { bid, dispute } = await disputedTask(buyer, bidder);
    const mo = await console.arrive("Mo");
    await mo.enterAs(moderator);
    await mo.page.clock.install();
    await mo.open(`/moderation/disputes/${dispute.id}`);
    await mo.sees("Nobody has written yet. Both sides read what you write.");
    await bidder.post(`/bids/${bid.id}/messages`, { text: "It was agreed on." });
    await mo.page.clock.fastForward(15_000);
    const message = mo.page.getByRole("log").getByRole("article").filter({ hasText: "It was agreed on." });
    await message.getByText("Bidder", { exact: true }).waitFor();
  });

  test("a moderator who has bid on the task is not shown what its sides wrote, and is told why", async () => {
    const interested = await createPerson(service);
    await makeModerator(service, interested);
    const { task, bid, dispute } = await disputedTask(buyer, bidder);
    await service.services.database.query(sql`
      INSERT INTO bids (task_id, bidder_id, price_cents, eta_hours, status)
      VALUES (${task.id}::uuid, ${interested.id}::uuid, 1, 1, 'withdrawn')`);
    await bidder.post(`/bids/${bid.id}/messages`, { text: "Between the two of us." });
    const mo = await console.arrive("Mo");
    await mo.enterAs(interested);
    await mo.open(`/moderation/disputes/${dispute.id}`);
    await mo.sees("You have bid on this task");
    await mo.sees("Nothing that you may read.");
    expect(await mo.page.getByText("Between the two of us.").count()).toBe(0);
    expect(await mo.page.getByRole("textbox", { name: "Message" }).count()).toBe(0);
  });
});
