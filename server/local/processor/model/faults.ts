import { type CallFault, type Choice, callFaults, type EventFault, eventFaults } from "./choices.ts";
import type { World } from "./world.ts";

export interface FaultState {
  name: string;
  description: string;
  /** Hits only calls that start with this text, such as `POST /v1/transfers`; null hits all calls. */
  call: string | null;
  /** How many of the next calls or events it hits. */
  next: number;
  /** The probability, from 0 to 1, that it hits any other call or event. */
  share: number;
  /** How often it has hit so far. */
  hits: number;
}

/** Sets a fault and replaces its earlier setting. The count of hits is kept. */
export function setFault(world: World, fault: { name: string; call?: string; next?: number; share?: number }): void {
  const sql = `insert into faults (name, call, next, share) values (?, ?, ?, ?)
    on conflict (name) do update set call = excluded.call, next = excluded.next, share = excluded.share`;
  world.store.run(sql, fault.name, fault.call ?? null, fault.next ?? 0, fault.share ?? 0);
}

/** Turns off all faults. The counts of hits are kept. */
export function clearFaults(world: World): void {
  world.store.run("update faults set next = 0, share = 0, call = null");
}

export function listFaults(world: World): FaultState[] {
  const rows = world.store.rows("select * from faults");
  return [...callFaults, ...eventFaults].map(({ name, description }) => {
    const row = rows.find((candidate) => candidate.name === name);
    const call = row?.call;
    return {
      name,
      description,
      call: typeof call === "string" ? call : null,
      next: Number(row?.next ?? 0),
      share: Number(row?.share ?? 0),
      hits: Number(row?.hits ?? 0),
    };
  });
}

/** Returns the fault that hits this API call, or null, and counts the hit. `call` is the method and the path. */
export function takeCallFault(world: World, call: string): CallFault | null {
  return take(world, callFaults, call);
}

/** Returns the fault that hits the next event, or null, and counts the hit. */
export function takeEventFault(world: World): EventFault | null {
  return take(world, eventFaults, null);
}

function take<Table extends readonly Choice[]>(
  world: World,
  table: Table,
  call: string | null,
): Table[number]["name"] | null {
  const active = world.store.rows("select name, call, next, share from faults where next > 0 or share > 0");
  for (const row of active) {
    const choice = table.find(({ name }) => name === row.name);
    if (choice === undefined) continue;
    if (typeof row.call === "string" && call?.startsWith(row.call) !== true) continue;
    const counted = Number(row.next) > 0;
    if (!counted && Math.random() >= Number(row.share)) continue;
    world.store.run("update faults set hits = hits + 1, next = max(next - 1, 0) where name = ?", choice.name);
    return choice.name;
  }
  return null;
}
