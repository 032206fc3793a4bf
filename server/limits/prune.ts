import { type Connection, sql } from "../store/connection.ts";

/** Deletes the counters whose window has ended. A caller who comes back gets a new one. */
export async function pruneRateLimits({ database }: { database: Connection }): Promise<void> {
  await database.query(sql`DELETE FROM rate_limits WHERE expire < ${Date.now()}`);
}
