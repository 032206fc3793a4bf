import type { Bid } from "../../schemas/bid.ts";
import { type Sql, sql } from "../../store/connection.ts";
import { type FrozenFee, feeOf } from "./rules.ts";
import type { CurrentSchedule } from "./schedules.ts";

/** A bid as it is read: `fee` is null as long as there has never been a schedule. Nobody but its owner is shown the fee. */
export interface BidRecord extends Bid {
  fee: FrozenFee | null;
}

/** The column `fee` of `bids b`. A bid of a free time has a fee of 0, and terms that take nothing. */
export const feeColumn: Sql = sql`
  CASE WHEN b.fee_schedule_id IS NOT NULL THEN (
    SELECT json_build_object('feeCents', b.fee_cents, 'basisPoints', s.basis_points, 'minCents', s.min_cents, 'maxCents', s.max_cents)
    FROM fee_schedules s WHERE s.id = b.fee_schedule_id)
  WHEN EXISTS (SELECT FROM fee_schedules) THEN '{"feeCents": 0, "basisPoints": 0, "minCents": 0, "maxCents": 0}'::json
  END AS fee`;

/** The values of `priced_at`, `fee_schedule_id` and `fee_cents` for a price that is set now. */
export function frozenFor(priceCents: number, { at, schedule }: CurrentSchedule): { at: Sql; id: Sql; cents: Sql } {
  return {
    at: sql`${at}::timestamptz`,
    id: sql`${schedule?.id ?? null}::uuid`,
    cents: sql`${schedule && feeOf(priceCents, schedule)}::integer`,
  };
}

/** What the user is shown of the fee: the bid's owner all of it, anyone else nothing. */
export function feeShownTo(userId: string, { bidder, priceCents, fee }: BidRecord): Pick<Bid, "feeCents" | "netCents"> {
  if (fee === null || bidder.id !== userId) return {};
  return { feeCents: fee.feeCents, netCents: priceCents - fee.feeCents };
}

/** The bid as the user may see it. */
export function bidShownTo(userId: string, record: BidRecord): Bid {
  const { fee: _, ...bid } = record;
  return { ...bid, ...feeShownTo(userId, record) };
}
