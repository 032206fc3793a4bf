import { type Connection, queryOne, sql } from "./connection.ts";

/** How far the primary's log reached, and when. */
export interface Position {
  lsn: bigint;
  at: string;
}

export async function primaryPosition(primary: Connection): Promise<Position> {
  const { lsn, at } = await queryOne<{ lsn: string; at: string }>(
    primary,
    sql`SELECT (pg_current_wal_insert_lsn() - '0/0')::text AS lsn, clock_timestamp() AS at`,
  );
  return { lsn: BigInt(lsn), at };
}

/** How much of the primary's log a standby has replayed; null for a server that is no standby, or none any more. */
export async function replayedPosition(standby: Connection): Promise<bigint | null> {
  const { lsn } = await queryOne<{ lsn: string | null }>(
    standby,
    sql`SELECT CASE WHEN pg_is_in_recovery() THEN (pg_last_wal_replay_lsn() - '0/0')::text END AS lsn`,
  );
  return lsn === null ? null : BigInt(lsn);
}
