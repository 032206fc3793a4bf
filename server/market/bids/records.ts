import { ApiError } from "../../errors.ts";
import { type BidExcerpt, EXCERPT_CHARACTERS, excerptOfBid } from "../../schemas/excerpts.ts";
import { type Connection, isoTimestamp, join, literal, type Sql, sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import { type BidRecord, feeColumn, feeShownTo } from "../fees/ofBid.ts";
import { assertBidAction, type BidAction, type BidActor, bidTransitions } from "./rules.ts";

const columnsWith = (notes: Sql) => sql`
  b.id, b.task_id AS "taskId", json_build_object('id', bidder.id, 'displayName', bidder.display_name) AS bidder,
  b.price_cents AS "priceCents", b.eta_hours::float8 AS "etaHours", ${notes} AS notes, b.status, b.created_at AS "createdAt",
  b.updated_at AS "updatedAt", (
    SELECT t.content_edited_at FROM tasks t
    WHERE t.id = b.task_id AND b.status = 'active' AND t.content_edited_at > b.created_at) AS "taskEditedAt", ${feeColumn}`;

/** Columns of `bids b JOIN users bidder`. */
export const bidColumns = columnsWith(sql`b.notes`);

/**
 * Columns of `bids b JOIN users bidder` for `excerptOfBid`. They have one character more of the notes than it keeps, so
 * that it can tell whether there are more.
 */
export const bidExcerptColumns = columnsWith(sql`left(b.notes, ${EXCERPT_CHARACTERS + 1})`);

export async function findBid(connection: Connection, bidId: string): Promise<BidRecord | null> {
  const [bid] = await connection.query<BidRecord>(
    sql`
    SELECT ${bidColumns} FROM bids b JOIN users bidder ON bidder.id = b.bidder_id WHERE b.id = ${bidId}::uuid`,
    { withBegin: true, sharesConnection: true },
  );
  return bid ?? null;
}

/** Returns the bidders whose bids on the task are active. */
export async function findActiveBidders(connection: Connection, taskId: string): Promise<string[]> {
  const bids = await connection.query<{ bidderId: string }>(sql`
    SELECT bidder_id AS "bidderId" FROM bids WHERE task_id = ${taskId}::uuid AND status = 'active'`);
  return bids.map(({ bidderId }) => bidderId);
}

/** Throws `not_found`. The bid can change until its task is locked: read it again after that. */
export async function getBid(connection: Connection, bidId: string): Promise<BidRecord> {
  const bid = await findBid(connection, bidId);
  if (bid === null) throw new ApiError("not_found");
  return bid;
}

const MAX_BIDS_IN_DETAIL = 100;

/**
 * A JSON array of the bids that the detail of `tasks t` shows to this user: the buyer sees everyone's, anyone else their own.
 * Active bids and the awarded one come first, because a buyer decides about these and any number of withdrawn ones may be
 * newer; within both groups, the newest come first. At most 100. Read it with `bidsFromJson`.
 */
export const bidsShownTo = (userId: string): Sql => sql`CASE WHEN t.buyer_id = ${userId}::uuid THEN (
    SELECT json_agg(bid) FROM (
      SELECT ${bidExcerptColumns} FROM bids b JOIN users bidder ON bidder.id = b.bidder_id WHERE b.task_id = t.id
      ORDER BY (b.status IN ('active', 'awarded')) DESC, b.created_at DESC LIMIT ${literal(MAX_BIDS_IN_DETAIL)}) bid)
  ELSE (
    -- Nobody places a bid while their last one is active, so of one bidder's bids the newest is the one that comes first.
    SELECT json_agg(bid) FROM (
      SELECT ${bidExcerptColumns} FROM bids b JOIN users bidder ON bidder.id = b.bidder_id
      WHERE b.task_id = t.id AND b.bidder_id = ${userId}::uuid
      ORDER BY b.created_at DESC LIMIT ${literal(MAX_BIDS_IN_DETAIL)}) bid)
  END`;

/** Returns the bids in what `bidsShownTo` returned for this user, which is null for none. */
export function bidsFromJson(userId: string, bids: readonly BidRecord[] | null): BidExcerpt[] {
  return (bids ?? []).map(({ createdAt, updatedAt, taskEditedAt, ...bid }) =>
    bidExcerptShownTo(userId, {
      ...bid,
      createdAt: isoTimestamp(createdAt),
      updatedAt: isoTimestamp(updatedAt),
      taskEditedAt: taskEditedAt && isoTimestamp(taskEditedAt),
    }),
  );
}

/** The bid as lists show it to the user. */
export function bidExcerptShownTo(userId: string, record: BidRecord): BidExcerpt {
  return { ...excerptOfBid(record), ...feeShownTo(userId, record) };
}

interface Move {
  actor: BidActor;
  /** SQL assignments to columns of `bids` besides the status. */
  changes?: Sql;
}

/**
 * Moves a bid, or changes it within its status, and returns the new row. It asks the state table whether `actor` may do this to
 * the bid, whose task must be locked, and throws the table's refusal.
 */
export async function moveBid(
  tx: Transaction,
  action: BidAction,
  bid: BidRecord,
  { actor, changes }: Move,
): Promise<BidRecord> {
  const status = assertBidAction(action, bid, actor);
  const assignments = join([sql`status = ${status}`, ...(changes ? [changes] : [])]);
  const [moved] = await tx.query<BidRecord>(sql`
    UPDATE bids b SET ${assignments}, updated_at = service_now()
    FROM users bidder WHERE b.id = ${bid.id}::uuid AND bidder.id = b.bidder_id RETURNING ${bidColumns}`);
  if (!moved) throw new ApiError("not_found");
  return moved;
}

/**
 * Applies the table's `reject` to all active bids of a locked task, in one statement because there may be hundreds. Returns
 * them, with enough of their notes for `excerptOfBid`.
 */
export function rejectActiveBids(tx: Transaction, taskId: string): Promise<BidRecord[]> {
  const { from, to } = bidTransitions.reject;
  return tx.query<BidRecord>(sql`
    UPDATE bids b SET status = ${to}, updated_at = service_now()
    FROM users bidder WHERE b.task_id = ${taskId}::uuid AND b.status = ${from} AND bidder.id = b.bidder_id
    RETURNING ${bidExcerptColumns}`);
}
