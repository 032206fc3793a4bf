import { run } from "graphile-worker";
import { openPool } from "../../../server/store/connection.ts";

/**
 * graphile-worker as our own worker runs it, with jobs that do nothing; sends its parent the time at which all are
 * done.
 */
let left = Number(process.env.JOBS);
await run({
  pgPool: openPool(process.env.DATABASE_URL ?? "", { poolSize: 20 }),
  concurrency: 8,
  pollInterval: 500,
  noHandleSignals: true,
  taskList: {
    empty: async () => {
      if (--left === 0) process.send?.(performance.timeOrigin + performance.now());
    },
  },
});
process.once("SIGTERM", () => process.exit(0));
console.log("ready");
