import { expect, test } from "vitest";
import { addShared, askedQuestion } from "../../factories/conversation.ts";
import { createModerator } from "../../factories/moderators.ts";
import { createPerson } from "../../factories/people.ts";
import { disputeReason, placeBid, upload } from "../../factories/tasks.ts";
import { useService } from "../../setup/testService.ts";

const service = useService();

test("a dispute shows what was said in order of time: questions, answers and messages, these to a moderator while it is open", async () => {
  const buyer = await createPerson(service, { cents: 100_000 });
  const [bidder, visitor, moderator] = [
    await createPerson(service),
    await createPerson(service),
    await createModerator(service),
  ];
  const question = await askedQuestion(buyer, visitor);
  const { id: bidId } = await placeBid(bidder, question.taskId);
  const say = (text: string, fileIds?: string[]) => bidder.post(`/bids/${bidId}/messages`, { text, fileIds });
  await say("I know both languages.");
  await buyer.post(`/questions/${question.id}/answer`, { text: "Five hundred." });
  await bidder.post(`/tasks/${question.taskId}/questions`, { text: "Until when?" });
  await buyer.post(`/tasks/${question.taskId}/award`, { bidId });
  const file = await addShared(bidder, `/bids/${bidId}`, "Page one.");
  await say("Here is page one.", [file.id]);
  const storageKey = await upload(bidder, bidId, "delivery");
  await bidder.post(`/bids/${bidId}/delivery/finalize`, { storageKey });
  const { dispute } = (await buyer.post(`/tasks/${question.taskId}/dispute`, { reason: disputeReason })).body;
  await moderator.post(`/bids/${bidId}/messages`, { text: "Where is page two?" });

  const saidTo = async (person: typeof buyer) => (await person.get(`/disputes/${dispute.id}`)).body.said;
  const said = await saidTo(moderator);
  const words = said.map(({ kind, role, text }: Record<string, string>) => [kind, role, text]);
  const all = [
    ["question", "visitor", "How many words?"],
    ["message", "bidder", "I know both languages."],
    ["answer", "buyer", "Five hundred."],
    ["question", "bidder", "Until when?"],
    ["message", "bidder", "Here is page one."],
    ["message", "moderator", "Where is page two?"],
  ];
  expect(words).toEqual(all);
  expect(said[4].files).toMatchObject([{ id: file.id, sha256: file.sha256 }]);
  expect(await (await fetch(said[4].files[0].downloadUrl)).text()).toBe("Page one.");
  for (const side of [buyer, bidder]) expect(await saidTo(side)).toHaveLength(6);

  await moderator.post(`/disputes/${dispute.id}/resolve`, { resolution: "refund" });
  for (const side of [buyer, bidder]) expect(await saidTo(side)).toHaveLength(6);
  expect((await saidTo(moderator)).map(({ kind }: { kind: string }) => kind)).toEqual([
    "question",
    "answer",
    "question",
  ]);
});
