import { afterEach, expect, test } from "vitest";
import { getBid, moveBid } from "../../../server/market/bids/records.ts";
import { bidTransitions } from "../../../server/market/bids/rules.ts";
import { acceptDelivery } from "../../../server/market/tasks/acceptDelivery.ts";
import { expireTask } from "../../../server/market/tasks/expireTask.ts";
import { moveTask } from "../../../server/market/tasks/moveTask.ts";
import { lockTask } from "../../../server/market/tasks/records.ts";
import { momentOf } from "../../../server/market/tasks/rules.ts";
import { type TaskActor, taskTransitions } from "../../../server/market/tasks/stateMachine.ts";
import { createPerson } from "../../factories/people.ts";
import { awardedTask, deliveredTask, placeBid, postTask } from "../../factories/tasks.ts";
import { expectBooksToBalance } from "../../setup/books.ts";
import { clockOf } from "../../setup/testClock.ts";
import { useService } from "../../setup/testService.ts";

const service = useService();
afterEach(() => expectBooksToBalance(service));

const people = async () => [await createPerson(service, { cents: 100_000 }), await createPerson(service)] as const;

/** Runs `work` while a transition of a table is allowed from no status. */
async function whileClosed(transition: { from: unknown }, work: () => Promise<void>): Promise<void> {
  const { from } = transition;
  Object.assign(transition, { from: [] });
  await work().finally(() => Object.assign(transition, { from }));
}

test("no procedure does what the table does not allow", async () => {
  const [buyer, bidder] = await people();
  const { task } = await deliveredTask(buyer, bidder);
  await whileClosed(taskTransitions.accept, async () => {
    expect(await buyer.post(`/tasks/${task.id}/accept`)).toMatchObject({
      status: 409,
      body: { error: "wrong_status" },
    });
  });
  expect((await buyer.post(`/tasks/${task.id}/accept`)).body.task.status).toBe("accepted");
});

test("no job does what the table does not allow, and the job does not fail", async () => {
  const [buyer, bidder] = await people();
  const { task: delivered } = await deliveredTask(buyer, bidder);
  const { task: awarded } = await awardedTask(buyer, bidder);
  const statuses = async () =>
    Promise.all([delivered, awarded].map(async ({ id }) => (await buyer.get(`/tasks/${id}`)).body.task.status));
  const late = clockOf(() => new Date(service.clock.now().getTime() + 60 * 24 * 3_600_000));
  const services = { ...service.services, clock: late };
  const runJobs = async () => {
    await acceptDelivery(services, { taskId: delivered.id });
    await expireTask(services, { taskId: awarded.id });
  };
  await whileClosed(taskTransitions.release, () => whileClosed(taskTransitions.expire, runJobs));
  expect(await statuses()).toEqual(["delivered", "awarded"]);
  await runJobs();
  expect(await statuses()).toEqual(["accepted", "expired"]);
});

test("only the actor that the table names can move a task, even from our own code", async () => {
  const [buyer, bidder] = await people();
  const { task } = await deliveredTask(buyer, bidder);
  const acceptAs = (actor: TaskActor) =>
    service.services.database.transaction(async (tx) =>
      moveTask(tx, "accept", await lockTask(tx, task.id), { actor, moment: momentOf(service.services) }),
    );
  for (const actor of ["awardedBidder", "stranger", "moderator", "clock"] as const) {
    await expect(acceptAs(actor), actor).rejects.toMatchObject({ code: "forbidden" });
  }
  expect((await buyer.get(`/tasks/${task.id}`)).body.task.status).toBe("delivered");
  expect((await acceptAs("buyer")).status).toBe("accepted");
});

test("a bid is moved only as its table says, and the table decides which bids an award rejects", async () => {
  const [buyer, bidder] = await people();
  const task = await postTask(buyer);
  const { id: bidId } = await placeBid(bidder, task.id);
  const { id: rivalId } = await placeBid(await createPerson(service), task.id);
  const withdrawAs = (actor: "owner" | "buyer") =>
    service.services.database.transaction(async (tx) => {
      await lockTask(tx, task.id);
      return moveBid(tx, "withdraw", await getBid(tx, bidId), { actor });
    });
  await expect(withdrawAs("buyer")).rejects.toMatchObject({ code: "forbidden" });
  await whileClosed(bidTransitions.withdraw, () =>
    expect(withdrawAs("owner")).rejects.toMatchObject({ code: "wrong_status" }),
  );
  await buyer.post(`/tasks/${task.id}/award`, { bidId });
  const { bids } = (await buyer.get(`/tasks/${task.id}/bids`)).body;
  const statuses = Object.fromEntries(bids.map(({ id, status }: { id: string; status: string }) => [id, status]));
  expect(statuses).toEqual({ [bidId]: bidTransitions.award.to, [rivalId]: bidTransitions.reject.to });
});
