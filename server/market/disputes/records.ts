import { ApiError } from "../../errors.ts";
import type { Bid } from "../../schemas/bid.ts";
import type { Dispute, DisputeCase } from "../../schemas/dispute.ts";
import type { Services } from "../../services.ts";
import { type Connection, empty, queryOne, sql } from "../../store/connection.ts";
import { pageStatement } from "../../store/cursorLists.ts";
import type { Transaction } from "../../store/database.ts";
import { bidColumns } from "../bids/records.ts";
import { readReputations } from "../reputation.ts";
import { type TaskRecord, taskColumns } from "../tasks/records.ts";
import { readArtifactsOfTasks } from "../uploads/artifacts.ts";

/** Columns of `disputes d`. */
export const disputeColumns = sql`
  d.id, d.task_id AS "taskId", d.opened_by AS "openedBy", d.reason, d.status, d.resolution,
  d.buyer_cents AS "buyerCents", d.bidder_cents AS "bidderCents", d.note, d.created_at AS "createdAt",
  d.resolved_at AS "resolvedAt"`;

export async function findDispute(connection: Connection, disputeId: string): Promise<Dispute> {
  const [dispute] = await connection.query<Dispute>(sql`
    SELECT ${disputeColumns} FROM disputes d WHERE d.id = ${disputeId}::uuid`);
  if (!dispute) throw new ApiError("not_found");
  return dispute;
}

export async function findDisputeOfTask(connection: Connection, taskId: string): Promise<Dispute | null> {
  const [dispute] = await connection.query<Dispute>(sql`
    SELECT ${disputeColumns} FROM disputes d WHERE d.task_id = ${taskId}::uuid`);
  return dispute ?? null;
}

/**
 * Opens a dispute about a locked task. Disputes are listed oldest first, so a reader could page past a row that commits
 * after a younger one. An advisory lock, held until the commit, keeps `created_at` in commit order.
 */
export async function addDispute(
  tx: Transaction,
  { taskId, openedBy, reason }: Pick<Dispute, "taskId" | "openedBy" | "reason">,
): Promise<Dispute> {
  await tx.query(sql`SELECT pg_advisory_xact_lock(hashtextextended('disputes', 0))`);
  return queryOne<Dispute>(
    tx,
    sql`
    INSERT INTO disputes AS d (task_id, opened_by, reason) VALUES (${taskId}::uuid, ${openedBy}, ${reason})
    RETURNING ${disputeColumns}`,
  );
}

/** Whose disputes to read: all of them (null, for a moderator), or those about tasks that this user is a party to. */
export type DisputeReader = { partyId: string | null };

interface DisputeFilter extends DisputeReader {
  disputeId?: string;
  statuses?: string[];
  /** Only disputes younger than this timestamp. */
  cursor?: string;
  limit: number;
}

/** Reads disputes with everything a decision needs, oldest first, in one statement per kind of row. */
export async function readDisputeCases(
  services: Pick<Services, "database" | "storage">,
  { partyId, disputeId, statuses, cursor, limit }: DisputeFilter,
): Promise<DisputeCase[]> {
  const { database } = services;
  const select = sql`SELECT ${disputeColumns} FROM disputes d JOIN tasks t ON t.id = d.task_id`;
  const where = sql`true
      ${partyId === null ? empty : sql`AND ${partyId}::uuid IN (t.buyer_id, t.awarded_bidder_id)`}
      ${disputeId === undefined ? empty : sql`AND d.id = ${disputeId}::uuid`}
      ${statuses === undefined ? empty : sql`AND d.status = ANY (${statuses}::text[])`}`;
  const disputes = await database.query<Dispute>(pageStatement("disputes.list", select, where, { cursor, limit }));
  if (disputes.length === 0) return [];

  const taskIds = disputes.map((dispute) => dispute.taskId);
  const tasks = await database.query<TaskRecord>(sql`
    SELECT ${taskColumns} FROM tasks t JOIN users buyer ON buyer.id = t.buyer_id WHERE t.id = ANY (${taskIds}::uuid[])`);
  const bids = await database.query<Bid>(sql`
    SELECT ${bidColumns} FROM bids b JOIN users bidder ON bidder.id = b.bidder_id
    WHERE b.id = ANY (${tasks.map((task) => task.awardedBidId)}::uuid[])`);
  const artifacts = await readArtifactsOfTasks(services, taskIds);
  const reputations = await readReputations(database, [
    ...new Set(tasks.flatMap(({ buyerId, awardedBidderId }) => [buyerId, awardedBidderId ?? buyerId])),
  ]);

  return disputes.map((dispute) => {
    const task = tasks.find(({ id }) => id === dispute.taskId);
    const bid = bids.find(({ id }) => id === task?.awardedBidId);
    const buyer = reputations.find(({ userId }) => userId === task?.buyerId);
    const bidder = reputations.find(({ userId }) => userId === bid?.bidder.id);
    if (!task || !bid || !buyer || !bidder) throw new Error(`dispute ${dispute.id} has no task, bid or parties`);
    const { samples = [], deliveries = [] } = artifacts.get(task.id) ?? {};
    return { ...dispute, task, bid, samples, deliveries, reputations: { buyer, bidder } };
  });
}
