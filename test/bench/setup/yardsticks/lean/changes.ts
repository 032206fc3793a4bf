import { only, type Run } from "./database.ts";

/**
 * What a request changes, each in a transaction that the caller has begun: one statement for the task, one for the money, one for
 * the event with its job. A single statement for all of it would take a quarter less time, but could not tell the caller what was
 * at fault (the task, the bid or the money), which is a part of the job.
 */
interface Task {
  id: string;
  buyer: { id: string };
  maxBudgetCents: number;
  deliveryDueAt: string;
  acceptanceDeadlineAt: string;
  awardedBidId: string;
}

interface Bid {
  id: string;
  bidder: { id: string };
  priceCents: number;
}

type Bucket = [userId: string, kind: string, bucket: "available" | "held"];

const GRACE_MS = 7 * 24 * 3_600_000;

const tell = (run: Run, type: string, taskId: string, recipients: string[] | null, data: object) =>
  run("tell", [type, taskId, recipients, JSON.stringify(data)]);

const move = (run: Run, from: Bucket, to: Bucket, cents: number, taskId: string, bidId: string | null) =>
  run("move", [...from, ...to, cents, taskId, bidId]);

export async function createTask(run: Run, buyerId: string, fields: readonly unknown[], cents: number) {
  const task = only(await run<Task>("createTask", [buyerId, ...fields]));
  await move(run, [buyerId, "hold", "available"], [buyerId, "hold", "held"], cents, task.id, null);
  await tell(run, "task.created", task.id, null, { task });
  return { task };
}

export async function placeBid(run: Run, taskId: string, bidderId: string, terms: readonly unknown[]) {
  const task = only(await run<Task>("countBid", [taskId, bidderId, terms[0]]));
  const bid = only(await run<Bid>("placeBid", [taskId, bidderId, ...terms]));
  await tell(run, "bid.received", taskId, [task.buyer.id], { task, bid });
  return { bid };
}

export async function award(run: Run, taskId: string, bidId: string, buyerId: string) {
  const task = only(await run<Task>("awardTask", [taskId, bidId, buyerId]));
  const bid = only(await run<Bid>("awardBid", [bidId, taskId]));
  const lost = await run<Bid>("rejectOthers", [taskId]);
  const cents = task.maxBudgetCents - bid.priceCents;
  if (cents > 0) {
    const kind = "hold_release";
    await move(run, [buyerId, kind, "held"], [buyerId, kind, "available"], cents, taskId, bidId);
  }
  await tell(run, "task.awarded", taskId, [buyerId, bid.bidder.id], { task, bid });
  for (const loser of lost) await tell(run, "bid.rejected", taskId, [loser.bidder.id], { task, bid: loser });
  const expiresAt = new Date(Date.parse(task.deliveryDueAt) + GRACE_MS);
  await run("queue", ["expireTask", JSON.stringify({ taskId }), expiresAt]);
  return { task, awardedBid: bid };
}

export async function deliver(run: Run, bidId: string, bidderId: string, storageKey: string, sealedKey: string) {
  const task = only(await run<Task>("deliverTask", [bidId, bidderId]));
  const file = only(await run<object>("finishUpload", [storageKey, sealedKey]));
  const bid = only(await run<Bid>("bid", [bidId]));
  await tell(run, "delivery.posted", task.id, [task.buyer.id, bidderId], { task, bid });
  await run("queue", ["acceptDelivery", JSON.stringify({ taskId: task.id }), task.acceptanceDeadlineAt]);
  return { delivery: { id: bidId, bidId, taskId: task.id, ...file }, task };
}

export async function accept(run: Run, taskId: string, buyerId: string) {
  const task = only(await run<Task>("acceptTask", [taskId, buyerId]));
  const bid = only(await run<Bid>("bid", [task.awardedBidId]));
  const bidderId = bid.bidder.id;
  const [from, to]: [Bucket, Bucket] = [
    [buyerId, "task_payment", "held"],
    [bidderId, "task_earning", "available"],
  ];
  await move(run, from, to, bid.priceCents, taskId, bid.id);
  await tell(run, "task.accepted", taskId, [buyerId, bidderId], { task, bid });
  return { task };
}
