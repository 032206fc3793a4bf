import { type CallFault, type Choice, callFaults, type EventFault, eventFaults } from "./choices.ts";
import type { World } from "./world.ts";

export interface FaultState {
  name: string;
  description: string;
  /** Only calls that start like this are hit, such as `POST /v1/transfers`; null for all. */
  call: string | null;
  /** So many of the next calls or events are hit. */
  next: number;
  /** This share of all others, 0 to 1. */
  share: number;
  /** How often it really hit, ever. */
  hits: number;
}

/** Sets a fault; an earlier setting of the same fault is replaced, its count goes on. */
export function setFault(world: World, fault: { name: string; call?: string; next?: number; share?: number }): void {
  const sql = `insert into faults (name, call, next, share) values (?, ?, ?, ?)
    on conflict (name) do update set call = excluded.call, next = excluded.next, share = excluded.share`;
  world.store.run(sql, fault.name, fault.call ?? null, fault.next ?? 0, fault.share ?? 0);
}

/** Ends all faults; what was counted stays. */
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

/** The fault that hits this API call, if any; it is counted. `call` is the method and the path. */
export function takeCallFault(world: World, call: string): CallFault | null {
  return take(world, callFaults, call);
}

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
