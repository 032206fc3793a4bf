import { pino } from "pino";
import { systemClock } from "../../../server/gateways/clock.ts";
import { guardedEgress } from "../../../server/gateways/egress.ts";
import { openDatabase } from "../../../server/store/database.ts";
import { startDeliverer } from "../../../server/webhooks/deliverer.ts";

/** One delivering worker with the settings of production, except that it may call loopback. */
startDeliverer({
  settings: { webhookRetrySeconds: [30, 120, 600, 3_600, 21_600], webhookTimeoutSeconds: 10 },
  database: openDatabase(process.env.DATABASE_URL ?? "", { poolSize: 20 }),
  clock: systemClock,
  egress: guardedEgress({ allowInsecure: true }),
  log: pino({ level: "error" }),
});
// Measured after a garbage collection, because what is still in use must not grow.
process.on("message", () => {
  globalThis.gc?.();
  const { heapUsed, external, rss } = process.memoryUsage();
  process.send?.({ usedBytes: heapUsed + external, rssBytes: rss });
});
process.once("SIGTERM", () => process.exit(0));
console.log("ready");
