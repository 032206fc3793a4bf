import { readdir, readFile } from "node:fs/promises";
import type pg from "pg";

/** The CPU time, in milliseconds, that the connections to a database have used. */
export async function connectionsTime(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ pid: number }>(`
    SELECT pid FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`);
  return sumOf(await Promise.all(rows.map(({ pid }) => timeOfProcess(pid))));
}

/** Returns a function that reads the CPU time, in milliseconds, that a process and the database's connections have used. */
export function cpuTimeOf(pid: number, pool: pg.Pool) {
  return async (): Promise<number> => sumOf(await Promise.all([timeOfProcess(pid), connectionsTime(pool)]));
}

/** The CPU time of a process, in milliseconds. Linux counts it in nanoseconds, for each thread. */
export async function timeOfProcess(pid: number): Promise<number> {
  try {
    const threads = await readdir(`/proc/${pid}/task`);
    const times = await Promise.all(threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/schedstat`, "utf8")));
    return sumOf(times.map((text) => Number(text.split(" ", 1)[0]) / 1e6));
  } catch {
    // A connection, or a thread, has ended in the meantime.
    return 0;
  }
}

const sumOf = (figures: readonly number[]) => figures.reduce((sum, figure) => sum + figure, 0);
