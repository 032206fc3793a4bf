import { z } from "zod";
import { ApiError } from "../../errors.ts";
import { firstIdKept } from "../../events/prune.ts";
import { idOf } from "../../schemas/common.ts";
import { KeyAct } from "../../schemas/keyAct.ts";
import { sql } from "../../store/connection.ts";
import { sessionOnly } from "../../trpc.ts";

const MAX_ACTS = 50;
/** An act has an event or two, beside the bids that an award rejects, which are left out. */
const MAX_EVENTS = 3 * MAX_ACTS;

export const activity = sessionOnly
  .meta({
    rest: { method: "GET", path: "/keys/{id}/activity" },
    summary: "List what a key did",
    description:
      `Lists the latest ${MAX_ACTS} things that one of your API keys or connected apps did in the last 30 days, newest first, as ` +
      "the event log recorded them. It does not list reads, nor changes without events, such as uploads. A key that has ended " +
      "keeps its list.",
    errors: ["not_found"],
  })
  .input(z.strictObject({ id: idOf("API key") }).meta({ id: "ListKeyActivity" }))
  .output(z.object({ activity: z.array(KeyAct).meta({ description: "Newest first." }) }))
  .query(async ({ ctx, input: { id } }) => {
    const owned = await ctx.database.query(sql`
      SELECT FROM api_keys WHERE id = ${id}::uuid AND user_id = ${ctx.userId}::uuid`);
    if (owned.length === 0) throw new ApiError("not_found");
    const acts = await ctx.database.query<KeyAct>(sql`
      WITH latest AS MATERIALIZED (
        SELECT id, type, task_id, approved_by, act_id, created_at FROM events
        WHERE actor_key_id = ${id}::uuid AND type <> 'bid.rejected' AND id >= ${firstIdKept(ctx.clock)}::uuid
        ORDER BY id DESC LIMIT ${MAX_EVENTS}
      ), acts AS (
        SELECT act_id AS id, array_agg(type ORDER BY first) AS types, max(task_id::text)::uuid AS task_id,
               bool_or(is_approved) AS approved, min(created_at) AS created_at, min(first) AS first
        FROM (
          SELECT act_id, type, min(id::text) AS first, max(task_id::text) AS task_id,
                 bool_or(approved_by IS NOT NULL) AS is_approved, min(created_at) AS created_at
          FROM latest GROUP BY act_id, type) AS each_type
        GROUP BY act_id ORDER BY first DESC LIMIT ${MAX_ACTS}
      )
      SELECT a.id, a.types, a.approved, a.created_at AS "createdAt",
             CASE WHEN t.id IS NOT NULL THEN json_build_object('id', t.id, 'title', t.title) END AS task
      FROM acts a LEFT JOIN tasks t ON t.id = a.task_id ORDER BY a.first DESC`);
    return { activity: acts };
  });
