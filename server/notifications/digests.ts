import type { Services } from "../services.ts";
import { NIL_UUID, queryOne, sql } from "../store/connection.ts";
import type { Database } from "../store/database.ts";
import type { JobPayload } from "../store/jobPayloads.ts";
import { addJobs } from "../store/queue.ts";
import { sendNotificationMail } from "./sendMail.ts";
import { latestEight } from "./zones.ts";

/** Digests that one transaction plans. */
const BATCH = 5_000;
/** Digests that one job sends: with a job for each of 50,000, every look for a due job passes by all of them. */
const PER_JOB = 100;

/**
 * Plans the daily mails of everyone where it is 8 o'clock, or was since the last time: for those with notifications that wait for
 * one, and those who follow new tasks if there were any. Each day of a person is planned once, however many processes do so.
 */
export async function planDigests({
  database,
  clock,
  mail,
}: Pick<Services, "database" | "clock" | "mail">): Promise<void> {
  if (mail === null) return;
  const zones = await database.query<{ name: string }>(sql`
    SELECT DISTINCT coalesce(time_zone, 'UTC') AS name FROM users WHERE id IN (
      SELECT user_id FROM notifications WHERE mail = 'daily' AND mail_id IS NULL
      UNION SELECT user_id FROM notification_preferences WHERE kind = 'marketplace' AND mail = 'daily')`);
  const names = zones.map(({ name }) => name);
  const eights = names.map((name) => latestEight(name, clock.now()).toISOString());
  if (names.length === 0) return;
  let after: string | null = NIL_UUID;
  while (after !== null) after = await planSome(database, { names, eights, after });
}

interface Part {
  names: string[];
  eights: string[];
  /** The last person of the part before. */
  after: string;
}

/** Plans for some people, in the order of their ids, and returns the last of them; null if there are no more. */
function planSome(database: Database, { names, eights, after }: Part): Promise<string | null> {
  return database.transaction(async (tx) => {
    const { ids, last } = await queryOne<{ ids: string[]; last: string | null }>(
      tx,
      sql`
      WITH zone AS (
        SELECT z.name, z.eight, EXISTS (SELECT FROM tasks t WHERE t.created_at < z.eight
                                          AND t.created_at >= z.eight - interval '1 day') AS has_tasks
        FROM unnest(${names}::text[], ${eights}::timestamptz[]) AS z (name, eight)
      ), page AS (
        SELECT * FROM (
          (SELECT DISTINCT u.id, z.eight FROM notifications n JOIN users u ON u.id = n.user_id
           JOIN zone z ON z.name = coalesce(u.time_zone, 'UTC')
           WHERE n.mail = 'daily' AND n.mail_id IS NULL AND n.created_at < z.eight AND n.user_id > ${after}::uuid
           ORDER BY u.id LIMIT ${BATCH})
          UNION
          (SELECT u.id, z.eight FROM notification_preferences p JOIN users u ON u.id = p.user_id
           JOIN zone z ON z.name = coalesce(u.time_zone, 'UTC')
           WHERE p.kind = 'marketplace' AND p.mail = 'daily' AND p.updated_at < z.eight AND z.has_tasks
             AND p.user_id > ${after}::uuid
           ORDER BY p.user_id LIMIT ${BATCH})
        ) AS person ORDER BY id LIMIT ${BATCH}
      ), added AS (
        INSERT INTO notification_mails (user_id, purpose, due_at)
        SELECT page.id, 'digest', eight FROM page JOIN users u ON u.id = page.id
        WHERE u.email_verified_at IS NOT NULL AND u.suspended_at IS NULL AND u.closed_at IS NULL AND NOT EXISTS (
          SELECT FROM notification_mails m WHERE m.user_id = page.id AND m.purpose = 'digest' AND m.due_at = eight)
        ON CONFLICT DO NOTHING
        RETURNING id, user_id, due_at
      ), taken AS (
        UPDATE notifications n SET mail_id = added.id FROM added
        WHERE n.user_id = added.user_id AND n.mail = 'daily' AND n.mail_id IS NULL AND n.created_at < added.due_at)
      SELECT ARRAY(SELECT id::text FROM added) AS ids,
             CASE WHEN (SELECT count(*) FROM page) = ${BATCH} THEN (SELECT id FROM page ORDER BY id DESC LIMIT 1) END AS last`,
      { plan: "fresh" },
    );
    const parts = Array.from({ length: Math.ceil(ids.length / PER_JOB) }, (_, index) =>
      ids.slice(index * PER_JOB, (index + 1) * PER_JOB),
    );
    await addJobs(
      tx,
      "sendDigests",
      parts.map((mailIds) => ({ payload: { mailIds } })),
    );
    return last;
  });
}

/** Sends digests one after the other. Those that fail are tried again, and the others are not held up. */
export async function sendDigests(services: Services, { mailIds }: JobPayload<"sendDigests">): Promise<void> {
  const failures: unknown[] = [];
  for (const mailId of mailIds) {
    await sendNotificationMail(services, { mailId }).catch((error: unknown) => void failures.push(error));
  }
  if (failures.length > 0) throw new AggregateError(failures, `${failures.length} digests could not be sent`);
}
