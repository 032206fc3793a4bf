import { Alarm } from "./alarm.ts";
import { Refusal } from "./refusal.ts";
import type { World } from "./world.ts";

/** What happens later by itself, on the object with this id. Runs in a transaction of its own. */
export type Action = (world: World, objectId: string) => void;

/** Notes that `action` is due in `delayMs`; it is kept across restarts. */
export function later(world: World, delayMs: number, action: string, objectId: string): void {
  const dueMs = world.nowMs() + delayMs;
  world.store.run("insert into schedule (due_ms, action, object_id) values (?, ?, ?)", dueMs, action, objectId);
}

/** Runs what is due, and what became due while the processor was down. `actions` are found by their names. */
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
        // Something else happened to the object meanwhile, such as a dispute of what should be refunded now.
        if (!(error instanceof Refusal)) throw error;
        forget();
      }
    }
    afterwards();
  };
  return new Alarm(world.nowMs, nextDueMs, runDue);
}
