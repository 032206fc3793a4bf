import { beforeAll, expect, test } from "vitest";
import { createModerator } from "../../factories/moderators.ts";
import { createPerson, type TestPerson } from "../../factories/people.ts";
import { deliveredTask, disputedTask } from "../../factories/tasks.ts";
import { useService } from "../../setup/testService.ts";

const service = useService();
let buyer: TestPerson;
let bidder: TestPerson;

beforeAll(async () => {
  buyer = await createPerson(service, { cents: 1_000_000 });
  bidder = await createPerson(service);
});

const acceptedTask = async () => {
  const { task } = await deliveredTask(buyer, bidder);
  await buyer.post(`/tasks/${task.id}/accept`);
  return task;
};
const codeOf = async (answer: Promise<{ status: number; body: { error?: string } }>) => {
  const { status, body } = await answer;
  return [status, body.error];
};

test("each side rates the other once after acceptance: 201 with the rating, then already_rated", async () => {
  const { id } = await acceptedTask();
  const byBuyer = await buyer.post(`/tasks/${id}/rate`, { stars: 5, comment: "Quick and clean." });
  expect(byBuyer.status).toBe(201);
  expect(byBuyer.body).toEqual({
    rating: {
      id: expect.any(String),
      taskId: id,
      raterId: buyer.id,
      rateeId: bidder.id,
      role: "bidder",
      stars: 5,
      comment: "Quick and clean.",
      createdAt: expect.stringMatching(/\.\d{6}Z$/),
    },
  });
  const byBidder = await bidder.post(`/tasks/${id}/rate`, { stars: 2 });
  expect(byBidder.body.rating).toMatchObject({ raterId: bidder.id, rateeId: buyer.id, role: "buyer", comment: null });
  expect(await codeOf(buyer.post(`/tasks/${id}/rate`, { stars: 1 }))).toEqual([409, "already_rated"]);
  expect((await bidder.get(`/tasks/${id}`)).body.ratings.map(({ stars }: { stars: number }) => stars)).toEqual([5, 2]);
});

test("of ten parallel ratings by one side exactly one is stored", async () => {
  const { id } = await acceptedTask();
  const answers = await Promise.all(
    [1, 2, 3, 4, 5, 5, 4, 3, 2, 1].map((stars) => buyer.post(`/tasks/${id}/rate`, { stars })),
  );
  expect(answers.map(({ status }) => status).toSorted()).toEqual([201, ...Array(9).fill(409)]);
});

test("a resolved task can be rated too; rating an unfinished task is wrong_status, by a stranger forbidden, and of an unknown task 404", async () => {
  const moderator = await createModerator(service);
  const { task, dispute } = await disputedTask(buyer, bidder);
  const rate = (person: TestPerson) => codeOf(person.post(`/tasks/${task.id}/rate`, { stars: 3 }));
  expect(await rate(buyer)).toEqual([409, "wrong_status"]);
  expect(await rate(moderator)).toEqual([403, "forbidden"]);
  await moderator.post(`/disputes/${dispute.id}/resolve`, { resolution: "refund" });
  expect(await rate(moderator)).toEqual([403, "forbidden"]);
  expect(await rate(bidder)).toEqual([201, undefined]);
  expect(await codeOf(buyer.post(`/tasks/${crypto.randomUUID()}/rate`, { stars: 3 }))).toEqual([404, "not_found"]);
});

test("stars are integers from 1 to 5, and a comment has at most 500 code points", async () => {
  const { id } = await acceptedTask();
  const astronaut = "👩‍🚀"; // 3 code points
  for (const body of [
    {},
    { stars: 0 },
    { stars: 6 },
    { stars: 4.5 },
    { stars: "5" },
    { stars: null },
    { stars: 5, comment: astronaut.repeat(167) },
    { stars: 5, comment: 5 },
    { stars: 5, rateeId: buyer.id },
  ]) {
    expect(await codeOf(buyer.post(`/tasks/${id}/rate`, body)), JSON.stringify(body)).toEqual([400, "invalid_input"]);
  }
  expect((await buyer.post(`/tasks/${id}/rate`, { stars: 5, comment: `${astronaut.repeat(166)}xy` })).status).toBe(201);
});
