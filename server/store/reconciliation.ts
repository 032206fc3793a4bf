import { type Connection, queryOne, type Sql, sql } from "./connection.ts";

/**
 * Whether the database was restored, or a standby was promoted, and the books have not been compared with the payment processor
 * since. Then no payout is sent, because the books may have forgotten that it was. A subquery, so that a statement evaluates it
 * once and not for each row.
 */
export const needsReconciliation: Sql = sql`(SELECT needs_reconciliation())`;

export async function isUnreconciled(connection: Connection): Promise<boolean> {
  const { unreconciled } = await queryOne<{ unreconciled: boolean }>(
    connection,
    sql`SELECT needs_reconciliation() AS unreconciled`,
  );
  return unreconciled;
}

/** Which history of which database this is: another one after a restore or a failover. */
export async function readOrigin(connection: Connection): Promise<string> {
  const { origin } = await queryOne<{ origin: string }>(connection, sql`SELECT database_origin() AS origin`);
  return origin;
}

/** Lets payouts be sent for as long as the database has this origin. */
export async function endReconciliation(connection: Connection, origin: string): Promise<void> {
  await connection.query(sql`UPDATE reconciliation_state SET origin = ${origin}, noticed_origin = NULL`);
}

/** Pauses payouts, for a restore that the database does not show. */
export async function demandReconciliation(connection: Connection): Promise<void> {
  await connection.query(sql`UPDATE reconciliation_state SET origin = NULL, noticed_origin = NULL`);
}
