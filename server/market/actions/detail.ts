import { ApiError } from "../../errors.ts";
import type { BidExcerpt } from "../../schemas/excerpts.ts";
import { type Connection, sql } from "../../store/connection.ts";
import { bidsFromJson, bidsShownTo } from "../bids/records.ts";
import type { BidRecord } from "../fees/ofBid.ts";
import { type TaskRecord, taskColumns } from "../tasks/records.ts";
import { type BriefFileRow, briefFilesFromJson, briefFilesOf } from "../uploads/brief.ts";
import { type Facts, factsFor } from "./availableActions.ts";

/** What a signed-in user may see of every task, and what decides about their operations on it. */
export interface Detail {
  task: TaskRecord;
  facts: Facts;
  bids: BidExcerpt[];
  files: BriefFileRow[];
}

/** Reads a task's detail in one statement, so that it is from one snapshot. Throws `not_found`. */
export async function readDetail(connection: Connection, taskId: string, userId: string): Promise<Detail> {
  type Row = TaskRecord & { facts: Facts; shownBids: BidRecord[] | null; files: BriefFileRow[] | null };
  const [row] = await connection.query<Row>(
    sql`
    SELECT ${taskColumns}, ${factsFor(userId)} AS facts, ${bidsShownTo(userId)} AS "shownBids",
           ${briefFilesOf} AS files
    FROM tasks t JOIN users buyer ON buyer.id = t.buyer_id WHERE t.id = ${taskId}::uuid`,
    { sharesConnection: true },
  );
  if (row === undefined) throw new ApiError("not_found");
  const { facts, shownBids, files, ...task } = row;
  return { task, facts, bids: bidsFromJson(userId, shownBids), files: briefFilesFromJson(files) };
}
