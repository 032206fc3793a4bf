import { type Connection, queryOne, sql } from "./connection.ts";

/** How far the primary's log reached, and when. */
export interface Position {
  lsn: bigint;
  at: string;
}

export async function primaryPosition(primary: Connection): Promise<Position> {
  const { lsn, at, segmentBytes } = await queryOne<{ lsn: string; at: string; segmentBytes: number }>(
    primary,
    sql`SELECT (pg_current_wal_insert_lsn() - '0/0')::text AS lsn, clock_timestamp() AS at,
      pg_size_bytes(current_setting('wal_segment_size')) AS "segmentBytes"`,
  );
  return { lsn: endOfRecords(BigInt(lsn), BigInt(segmentBytes)), at };
}

const PAGE_BYTES = 8_192n;
const HEADER_BYTES = 24n;
const SEGMENT_HEADER_BYTES = 40n;

/** Where a page begins, the position to insert at is behind its header, which a standby has not replayed before a record follows. */
function endOfRecords(lsn: bigint, segmentBytes: bigint): bigint {
  const inPage = lsn % PAGE_BYTES;
  const isFirst = lsn % segmentBytes === inPage;
  return inPage === (isFirst ? SEGMENT_HEADER_BYTES : HEADER_BYTES) ? lsn - inPage : lsn;
}

/** How much of the primary's log a standby has replayed; null for a server that is no standby, or none any more. */
export async function replayedPosition(standby: Connection): Promise<bigint | null> {
  const { lsn } = await queryOne<{ lsn: string | null }>(
    standby,
    sql`SELECT CASE WHEN pg_is_in_recovery() THEN (pg_last_wal_replay_lsn() - '0/0')::text END AS lsn`,
  );
  return lsn === null ? null : BigInt(lsn);
}
