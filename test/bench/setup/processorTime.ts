import { readdir, readFile } from "node:fs/promises";
import type pg from "pg";

/**
 * Returns a function that reads the processor time, in milliseconds, that a process and the database's connections have
 * used. Linux counts it in nanoseconds, for each thread.
 */
export function processorTimeOf(pid: number, pool: pg.Pool) {
  return async (): Promise<number> => {
    const { rows } = await pool.query<{ pid: number }>(`
      SELECT pid FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`);
    const all = await Promise.all([pid, ...rows.map((row) => row.pid)].map(timeOfProcess));
    return all.reduce((sum, ms) => sum + ms, 0);
  };
}

async function timeOfProcess(pid: number): Promise<number> {
  try {
    const threads = await readdir(`/proc/${pid}/task`);
    const times = await Promise.all(threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/schedstat`, "utf8")));
    return times.reduce((sum, text) => sum + Number(text.split(" ", 1)[0]) / 1e6, 0);
  } catch {
    // A connection, or a thread, has ended in the meantime.
    return 0;
  }
}
