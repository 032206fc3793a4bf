import { Alarm } from "./alarm.ts";
import { Refusal } from "./refusal.ts";
import type { World } from "./world.ts";

/** A scheduled change of the object with this id. It runs in its own transaction. */
export type Action = (world: World, objectId: string) => void;

/** Schedules `action` to run after `delayMs`. The schedule survives restarts. */
export function later(world: World, delayMs: number, action: string, objectId: string): void {
  const dueMs = world.nowMs() + delayMs;
  world.store.run("insert into schedule (due_ms, action, object_id) values (?, ?, ?)", dueMs, action, objectId);
}

/** Returns how many actions and deliveries of events are due, and when the next one is, in milliseconds since the epoch. */
export function readSchedule({ store, nowMs }: World): { due: number; nextDueMs: number | null } {
  const [row] = store.rows(
    `select count(*) filter (where due_ms <= ?1) as due, min(due_ms) filter (where due_ms > ?1) as next from (
       select due_ms from schedule union all select next_attempt_ms from deliveries where delivered_ms is null)`,
    nowMs(),
  );
  return { due: Number(row?.due), nextDueMs: typeof row?.next === "number" ? row.next : null };
}

/**
 * Runs actions when they are due, including those that became due while the processor was down.
 * @param actions the actions by name
 * @param afterwards called after each run
 */
export function startSchedule(world: World, actions: Record<string, Action>, afterwards: () => void): Alarm {
  const nextDueMs = (): number | null => {
    const [row] = world.store.rows("select min(due_ms) as due from schedule");
    return typeof row?.due === "number" ? row.due : null;
  };
  const runDue = (): void => {
    const sql = "select id, action, object_id from schedule where due_ms <= ? order by due_ms, id limit 100";
    for (const row of world.store.rows(sql, world.nowMs())) {
      const forget = (): void => void world.store.run("delete from schedule where id = ?", Number(row.id));
      try {
        world.store.transaction(() => {
          forget();
          actions[String(row.action)]?.(world, String(row.object_id));
        });
      } catch (error) {
        // The object has changed in the meantime and the action no longer applies: a disputed charge is not refunded.
        if (!(error instanceof Refusal)) throw error;
        forget();
      }
    }
    afterwards();
  };
  return new Alarm(world.nowMs, nextDueMs, runDue);
}
