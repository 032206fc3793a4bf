import type { Services } from "../../services.ts";
import { sql } from "../../store/connection.ts";
import { timeOf } from "../../store/lease.ts";
import { isUnreconciled } from "../../store/reconciliation.ts";
import { storageKeyOf } from "./exports.ts";

const BATCH = 100;

/** Deletes the files of exports whose time is over, and then their rows, so that no file outlives what is known of it. */
export async function pruneExports(services: Services): Promise<void> {
  const { database, storage, clock } = services;
  // A database that was restored to an earlier time may be restored again, and then has exports whose files it needs.
  if (await isUnreconciled(database)) return;
  let ended: { id: string }[];
  do {
    ended = await database.query(sql`
      SELECT id FROM exports WHERE expires_at <= ${timeOf(clock.now())} ORDER BY expires_at LIMIT ${BATCH}`);
    for (const { id } of ended) await storage.delete(storageKeyOf(id));
    await database.query(sql`DELETE FROM exports WHERE id = ANY (${ended.map(({ id }) => id)}::uuid[])`);
  } while (ended.length === BATCH);
}
