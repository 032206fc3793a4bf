import { pino } from "pino";
import { systemClock } from "../../server/gateways/clock.ts";
import { guardedEgress } from "../../server/gateways/egress.ts";
import { openDatabase } from "../../server/store/database.ts";
import { startDeliverer } from "../../server/webhooks/deliverer.ts";

// A delivering worker in a process of its own, to be killed: `node workerProcess.ts DATABASE_URL`.
const [, , databaseUrl = ""] = process.argv;
startDeliverer({
  settings: { webhookRetrySeconds: [1, 1, 1, 1, 1], webhookTimeoutSeconds: 1 },
  database: openDatabase(databaseUrl, { poolSize: 5 }),
  clock: systemClock,
  egress: guardedEgress({ allowInsecure: true }),
  log: pino({ level: "error" }),
});
console.log("ready");
