import { beforeAll, expect, test } from "vitest";
import { createPerson, type TestPerson } from "../../factories/people.ts";
import { placeBid, postTask } from "../../factories/tasks.ts";
import { expectError } from "../../setup/expectError.ts";
import { useService } from "../../setup/testService.ts";

const service = useService();
let buyer: TestPerson;
let bidder: TestPerson;
beforeAll(async () => {
  buyer = await createPerson(service, { cents: 1_000_000 });
  bidder = await createPerson(service);
});

const editedAt = async (bidId: string): Promise<string | null> =>
  (await bidder.get(`/bids/${bidId}`)).body.bid.taskEditedAt;

test("an active bid shows that what it was placed for has changed since, and nothing else does", async () => {
  const task = await postTask(buyer, { acceptanceCriteria: "No typos." });
  const bid = await placeBid(bidder, task.id);
  expect(bid.taskEditedAt).toBeNull();
  await buyer.patch(`/tasks/${task.id}`, { tags: ["other"], title: task.title, acceptanceCriteria: "No typos." });
  expect(await editedAt(bid.id)).toBeNull();

  const changes = [{ title: "Another title" }, { description: "Another text." }, { acceptanceCriteria: null }];
  for (const change of changes) {
    const before = await editedAt(bid.id);
    const edited = await buyer.patch(`/tasks/${task.id}`, change);
    const after = await editedAt(bid.id);
    expect(after).not.toBe(before);
    expect(after?.slice(0, 16)).toBe(edited.body.task.updatedAt.slice(0, 16));
  }
  const listed = (await buyer.get(`/tasks/${task.id}/bids`)).body.bids[0];
  expect(listed.taskEditedAt).toBe(await editedAt(bid.id));
  expect((await buyer.get(`/tasks/${task.id}`)).body.bids[0].taskEditedAt).toBe(listed.taskEditedAt);

  const later = await placeBid(await createPerson(service), task.id);
  expect(later.taskEditedAt).toBeNull();
  await bidder.post(`/bids/${bid.id}/withdraw`);
  expect(await editedAt(bid.id)).toBeNull();
});

test("an award for a price that is no longer the bid's is refused with the new price, and changes nothing", async () => {
  const task = await postTask(buyer);
  const bid = await placeBid(bidder, task.id, { priceCents: 7_000 });
  await bidder.patch(`/bids/${bid.id}`, { priceCents: 9_000 });
  const wallet = (await buyer.get("/wallet")).body;
  const refused = await buyer.post(`/tasks/${task.id}/award`, { bidId: bid.id, expectedPriceCents: 7_000 });
  expectError(refused, "bid_changed");
  expect(refused.body.priceCents).toBe(9_000);
  expect((await buyer.get("/wallet")).body).toEqual(wallet);
  expect((await buyer.get(`/tasks/${task.id}`)).body.task.status).toBe("open");
  const awarded = await buyer.post(`/tasks/${task.id}/award`, { bidId: bid.id, expectedPriceCents: 9_000 });
  expect([awarded.status, awarded.body.awardedBid.priceCents]).toEqual([200, 9_000]);
});
