import { type Connection, queryOne, sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import type { CallerContext } from "../../trpc.ts";
import type { BidRecord } from "../fees/ofBid.ts";
import { findBidOfTask, lockBid } from "../tasks/lockBid.ts";
import type { TaskRecord } from "../tasks/records.ts";
import { assertTaskAction, type Moment, momentOf, uploaderOf } from "../tasks/rules.ts";
import type { TaskActor } from "../tasks/stateMachine.ts";
import { findSealed, sealedColumns } from "./artifacts.ts";
import { type Destination, invalidStorageKey } from "./declare.ts";
import { assertSampleCount } from "./limits.ts";

type WorkKind = "sample" | "delivery";
const actionOf = { sample: "uploadSample", delivery: "deliver" } as const;

/** Samples and deliveries, which the awarded bidder uploads. */
export function workOf(ctx: CallerContext, kind: WorkKind, bidId: string): Destination {
  return {
    ...{ kind, id: bidId },
    async mayUpload(connection) {
      const { task, bid } = await findBidOfTask(connection, bidId);
      assertTaskAction(actionOf[kind], task, uploaderOf(task, bid, ctx.userId), momentOf(ctx));
    },
    ...(kind === "sample" && { hasRoom: (connection) => assertRoomForSample(connection, bidId) }),
  };
}

/** Throws `sample_too_large` if the bid has as many samples as it may have. */
export async function assertRoomForSample(connection: Connection, bidId: string): Promise<void> {
  const { count } = await queryOne<{ count: number }>(
    connection,
    sql`SELECT count(*)::int AS count FROM artifacts WHERE bid_id = ${bidId}::uuid AND kind = 'sample'`,
  );
  assertSampleCount(count + 1);
}

/**
 * For an upload that is about to become a delivery. Throws `invalid_input` if it became one already: then the buyer has asked
 * for changes since, or else `mayUpload` throws that the task is delivered. Returns null if it did not.
 */
export async function assertNotDelivered(
  connection: Connection,
  { mayUpload }: Destination,
  storageKey: string,
): Promise<null> {
  if ((await findSealed(connection, storageKey, sealedColumns)) === null) return null;
  await mayUpload(connection);
  throw invalidStorageKey("This file has been delivered already. Start another upload.");
}

/** Records that the delivery of a bid, whose task is locked, is about to be replaced by another one. */
export async function supersedeDelivery(tx: Transaction, bidId: string, at: Date): Promise<void> {
  await tx.query(sql`
    UPDATE artifacts SET superseded_at = ${at.toISOString()}::timestamptz
    WHERE bid_id = ${bidId}::uuid AND kind = 'delivery' AND superseded_at IS NULL`);
}

/** Records that the buyer asks for changes to the delivery of a locked task: its checks will never accept it. */
export async function noteChangesRequested(tx: Transaction, taskId: string): Promise<void> {
  await tx.query(sql`
    UPDATE artifacts SET changes_requested = true
    WHERE task_id = ${taskId}::uuid AND kind = 'delivery' AND superseded_at IS NULL`);
}

/** Locks the bid's task and decides again whether the caller may upload, now that nothing can change it. */
export async function lockForWork(
  ctx: CallerContext,
  tx: Transaction,
  kind: WorkKind,
  bidId: string,
): Promise<{ task: TaskRecord; bid: BidRecord; actor: TaskActor; moment: Moment }> {
  const { task, bid } = await lockBid(tx, bidId);
  const [actor, moment] = [uploaderOf(task, bid, ctx.userId), momentOf(ctx)];
  assertTaskAction(actionOf[kind], task, actor, moment);
  return { task, bid, actor, moment };
}
