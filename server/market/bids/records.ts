import { ApiError } from "../../errors.ts";
import type { Bid } from "../../schemas/bid.ts";
import { type Connection, type Sql, sql } from "../../store/connection.ts";

/** Columns of `bids b JOIN users bidder`. */
export const bidColumns = sql`
  b.id, b.task_id AS "taskId", json_build_object('id', bidder.id, 'displayName', bidder.display_name) AS bidder,
  b.price_cents AS "priceCents", b.eta_hours::float8 AS "etaHours", b.notes, b.status, b.created_at AS "createdAt",
  b.updated_at AS "updatedAt"`;

export async function findBid(connection: Connection, bidId: string): Promise<Bid | null> {
  const [bid] = await connection.query<Bid>(sql`
    SELECT ${bidColumns} FROM bids b JOIN users bidder ON bidder.id = b.bidder_id WHERE b.id = ${bidId}::uuid`);
  return bid ?? null;
}

/** Throws `not_found`. The bid can change until its task is locked: read it again after that. */
export async function getBid(connection: Connection, bidId: string): Promise<Bid> {
  const bid = await findBid(connection, bidId);
  if (bid === null) throw new ApiError("not_found");
  return bid;
}

/** Writes `changes` (SQL assignments) to a bid whose task is locked, and returns the new row. */
export async function updateBid(connection: Connection, bidId: string, changes: Sql): Promise<Bid> {
  const [bid] = await connection.query<Bid>(sql`
    UPDATE bids b SET ${changes}, updated_at = clock_timestamp()
    FROM users bidder WHERE b.id = ${bidId}::uuid AND bidder.id = b.bidder_id RETURNING ${bidColumns}`);
  if (!bid) throw new ApiError("not_found");
  return bid;
}
