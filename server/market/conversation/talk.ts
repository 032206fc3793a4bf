import type { Principal } from "../../auth/principal.ts";
import { mayModerate } from "../../auth/principal.ts";
import { ApiError } from "../../errors.ts";
import type { Bid } from "../../schemas/bid.ts";
import type { MessageRole } from "../../schemas/message.ts";
import { type Connection, sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import { findBidOfTask, lockBid } from "../tasks/lockBid.ts";
import type { TaskRecord } from "../tasks/records.ts";

/** How long after its task's end a conversation can be written in. Source: docs/contract.md "Messages". */
const SILENT_AFTER_DAYS = 30;
const DAY_MS = 86_400_000;

/** Whether the task ended so long ago that its conversations can only be read. */
export const hasFallenSilent = ({ closedAt }: Pick<TaskRecord, "closedAt">, now: Date): boolean =>
  closedAt !== null && now.getTime() >= Date.parse(closedAt) + SILENT_AFTER_DAYS * DAY_MS;

/** A bid's conversation, and as whom the caller takes part in it. */
export interface Talk {
  task: TaskRecord;
  bid: Bid;
  role: MessageRole;
}

export interface Talker {
  readonly userId: string;
  readonly principal: Principal;
  readonly settings: { readonly moderatorTotp: boolean };
}

/** Returns the conversation if the caller may read it; throws `not_found` otherwise. Takes no lock. */
export async function findTalk(connection: Connection, talker: Talker, bidId: string): Promise<Talk> {
  return talkOf(connection, talker, await findBidOfTask(connection, bidId));
}

/** Like `findTalk`, and locks the task, which orders the messages of a conversation and keeps its status. */
export async function lockTalk(tx: Transaction, talker: Talker, bidId: string): Promise<Talk> {
  return talkOf(tx, talker, await lockBid(tx, bidId));
}

async function talkOf(connection: Connection, talker: Talker, talk: Omit<Talk, "role">): Promise<Talk> {
  const role = await roleOf(connection, talker, talk);
  if (role === null) throw new ApiError("not_found");
  return { ...talk, role };
}

/** Returns as whom the caller takes part in a conversation; null for someone who may not even read it. */
export async function roleOf(
  connection: Connection,
  { userId, principal, settings }: Talker,
  { task, bid }: Omit<Talk, "role">,
): Promise<MessageRole | null> {
  if (task.buyerId === userId) return "buyer";
  if (bid.bidder.id === userId) return "bidder";
  const isInDispute = task.status === "disputed" && task.awardedBidId === bid.id;
  const decides = isInDispute && mayModerate(principal, settings) && !(await hasBid(connection, task.id, userId));
  return decides ? "moderator" : null;
}

async function hasBid(connection: Connection, taskId: string, userId: string): Promise<boolean> {
  const bids = await connection.query(sql`
    SELECT 1 FROM bids WHERE task_id = ${taskId}::uuid AND bidder_id = ${userId}::uuid LIMIT 1`);
  return bids.length > 0;
}

/** Throws `wrong_status` unless the conversation can be written in now. */
export function assertWritable({ task, bid }: Talk, now: Date): void {
  if (bid.status !== "active" && bid.status !== "awarded") {
    throw new ApiError("wrong_status", { message: `The bid is ${bid.status}; it must be active or awarded for this.` });
  }
  if (hasFallenSilent(task, now)) {
    const message = `The task ended more than ${SILENT_AFTER_DAYS} days ago: its conversation can only be read.`;
    throw new ApiError("wrong_status", { message });
  }
}
