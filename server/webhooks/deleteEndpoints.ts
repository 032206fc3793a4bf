import { type Sql, sql } from "../store/connection.ts";
import type { Transaction } from "../store/database.ts";
import { stopDeliveries } from "./complete.ts";

/**
 * Deletes those of the endpoints that fulfil a condition on `webhook_endpoints`, with their secrets, and returns their ids.
 * Nothing more is sent to them.
 */
export async function deleteEndpoints(tx: Transaction, condition: Sql): Promise<string[]> {
  const endpoints = await tx.query<{ id: string }>(sql`
    SELECT id FROM webhook_endpoints WHERE ${condition} AND deleted_at IS NULL ORDER BY id FOR NO KEY UPDATE`);
  if (endpoints.length === 0) return [];
  const ids = endpoints.map(({ id }) => id);
  await tx.query(sql`
    UPDATE webhook_endpoints SET deleted_at = service_now(), signing_secret = '' WHERE id = ANY (${ids}::uuid[])`);
  await stopDeliveries(tx, ids);
  return ids;
}
