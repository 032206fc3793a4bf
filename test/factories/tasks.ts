import type { TestPerson } from "./people.ts";

let count = 0;

export function taskInput(changes: Record<string, unknown> = {}) {
  return {
    title: `Translate page ${++count}`,
    description: "From English to Finnish, in plain words.",
    maxBudgetCents: 10_000,
    tags: ["translation"],
    ...changes,
  };
}

/** Posts a task; the buyer needs the budget. */
export async function postTask(buyer: TestPerson, changes: Record<string, unknown> = {}) {
  const answer = await buyer.post("/tasks", taskInput(changes));
  if (answer.status !== 201) throw new Error(`posting a task returned ${answer.status}: ${answer.text}`);
  return answer.body.task;
}

export async function placeBid(bidder: TestPerson, taskId: string, changes: Record<string, unknown> = {}) {
  const answer = await bidder.post(`/tasks/${taskId}/bids`, { priceCents: 8_000, etaHours: 24, ...changes });
  if (answer.status !== 201) throw new Error(`placing a bid returned ${answer.status}: ${answer.text}`);
  return answer.body.bid;
}

interface Changes {
  priceCents?: number;
  maxBudgetCents?: number;
  revisions?: number;
}

/** Posts, bids and awards. */
export async function awardedTask(buyer: TestPerson, bidder: TestPerson, changes: Changes = {}) {
  const { maxBudgetCents = 10_000, priceCents = 8_000, revisions = 0 } = changes;
  const task = await postTask(buyer, { maxBudgetCents, revisions });
  const bid = await placeBid(bidder, task.id, { priceCents });
  const answer = await buyer.post(`/tasks/${task.id}/award`, { bidId: bid.id });
  if (answer.status !== 200) throw new Error(`awarding returned ${answer.status}: ${answer.text}`);
  return { task: answer.body.task, bid: answer.body.awardedBid };
}

/** Initialises an upload and PUTs the bytes, as a client would, and returns the storage key. */
export async function upload(bidder: TestPerson, bidId: string, kind: "sample" | "delivery", content = "hello, world") {
  const bytes = Buffer.from(content);
  const init = await bidder.post(`/bids/${bidId}/${kind}/init`, { mimeType: "text/plain", bytes: bytes.length });
  if (init.status !== 200) throw new Error(`the upload's init returned ${init.status}: ${init.text}`);
  const put = await fetch(init.body.uploadUrl, {
    method: "PUT",
    headers: { "content-type": "text/plain" },
    body: bytes,
  });
  if (put.status !== 200) throw new Error(`the PUT returned ${put.status}: ${await put.text()}`);
  return init.body.storageKey as string;
}

/** Declares, uploads and finalises a file, and returns its record. */
export async function uploadFile(
  bidder: TestPerson,
  bidId: string,
  kind: "sample" | "delivery",
  file: { mimeType: string; bytes: Buffer } & Record<string, unknown>,
) {
  const init = await bidder.post(`/bids/${bidId}/${kind}/init`, { ...file, bytes: file.bytes.length });
  if (init.status !== 200) throw new Error(`the upload's init returned ${init.status}: ${init.text}`);
  const { uploadUrl, storageKey } = init.body;
  const headers = { "content-type": file.mimeType };
  const put = await fetch(uploadUrl, { method: "PUT", headers, body: new Uint8Array(file.bytes) });
  if (put.status !== 200) throw new Error(`the PUT returned ${put.status}: ${await put.text()}`);
  const answer = await bidder.post(`/bids/${bidId}/${kind}/finalize`, { storageKey });
  if (answer.status !== 201) throw new Error(`finalising returned ${answer.status}: ${answer.text}`);
  return { artifact: answer.body[kind], storageKey: storageKey as string, uploadUrl: uploadUrl as string };
}

/** Uploads and delivers a file, and returns its record. */
export async function deliver(bidder: TestPerson, bidId: string) {
  const storageKey = await upload(bidder, bidId, "delivery");
  const answer = await bidder.post(`/bids/${bidId}/delivery/finalize`, { storageKey });
  if (answer.status !== 201) throw new Error(`delivering returned ${answer.status}: ${answer.text}`);
  return answer.body.delivery;
}

/** Everything up to `delivered`. */
export async function deliveredTask(buyer: TestPerson, bidder: TestPerson, changes: Changes = {}) {
  const { bid } = await awardedTask(buyer, bidder, changes);
  await deliver(bidder, bid.id);
  const { task } = (await buyer.get(`/tasks/${bid.taskId}`)).body;
  return { task, bid };
}

/** Everything up to a round of changes; the task has two revisions unless `changes` say otherwise. */
export async function taskInRound(buyer: TestPerson, bidder: TestPerson, changes: Changes & { hours?: number } = {}) {
  const { hours, ...others } = changes;
  const { task: delivered, bid } = await deliveredTask(buyer, bidder, { revisions: 2, ...others });
  const answer = await buyer.post(`/tasks/${delivered.id}/request-changes`, { reason: changesReason, hours });
  if (answer.status !== 200) throw new Error(`asking for changes returned ${answer.status}: ${answer.text}`);
  return { task: answer.body.task, bid };
}

/** Proposes an agreement, to cancel the task unless `proposal` says otherwise, and returns it. */
export async function propose(by: TestPerson, taskId: string, proposal: Record<string, unknown> = {}) {
  const body = { kind: "cancel", reason: "Neither of us wants this.", ...proposal };
  const answer = await by.post(`/tasks/${taskId}/agreements`, body);
  if (answer.status !== 201) throw new Error(`proposing returned ${answer.status}: ${answer.text}`);
  return answer.body.agreement;
}

export const changesReason = "The second page lacks its footnotes.";
export const disputeReason = "This is not what we agreed on.";

/** Everything up to `disputed`; the buyer opens the dispute. */
export async function disputedTask(buyer: TestPerson, bidder: TestPerson, changes: Changes = {}) {
  const { task: delivered, bid } = await deliveredTask(buyer, bidder, changes);
  const answer = await buyer.post(`/tasks/${delivered.id}/dispute`, { reason: disputeReason });
  if (answer.status !== 201) throw new Error(`disputing returned ${answer.status}: ${answer.text}`);
  return { task: answer.body.task, bid, dispute: answer.body.dispute };
}
