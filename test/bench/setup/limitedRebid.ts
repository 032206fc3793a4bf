import { pino } from "pino";
import { createApp } from "../../../server/http/app.ts";
import { serve } from "../../../server/http/server.ts";
import { defaultLimits, type PolicyName } from "../../../server/limits/policies.ts";
import { createServices } from "../../../server/services.ts";

/**
 * The service twice in one process, on PORT with rate limits that no load reaches, on UNLIMITED_PORT without: two processes
 * with the same code differ by more than what is measured. Shares are as large as with the contract's limits, so that the
 * counters cost what they cost in production. Answers a message with the CPU time that it has used, in microseconds.
 */
const keys = { bucket: "none", region: "us-east-1", accessKeyId: "none", secretAccessKey: "none" };
const names = Object.keys(defaultLimits) as PolicyName[]; // the keys of a literal are its type's keys
const { services } = createServices(
  {
    databaseUrl: process.env.DATABASE_URL ?? "",
    sessionSecrets: ["a secret of the bench, 32 characters or more"],
    mail: null,
    processor: { secretKey: "sk_test_none", webhookSecrets: ["whsec_none"], apiBase: null },
    storage: { endpoint: null, ...keys },
  },
  {
    settings: {
      publicUrl: `http://127.0.0.1:${process.env.PORT}`,
      appOrigins: [],
      corsOrigins: [],
      trustLocalhost: false,
      acceptanceWindowSeconds: 172_800,
      deliveryGraceSeconds: 604_800,
      agreementSeconds: 604_800,
      mailEventsSecret: null,
      passwordBlocklist: "off",
      processorPollSeconds: 300,
      operatorTimeZone: "UTC",
      operator: { name: null, address: null, taxId: null },
      operatorPaper: "A4" as const,
      spamGuard: false,
      moderatorTotp: false,
      oauthClientsFile: null,
      oauthDynamicClients: false,
      webhookAllowInsecure: false,
      webhookRetrySeconds: [30],
      webhookTimeoutSeconds: 10,
    },
    pool: { poolSize: 20 },
    log: pino({ level: "error" }),
    limiter: { limits: Object.fromEntries(names.map((name) => [name, 10_000_000])) },
  },
);
const unlimited = { ...services, limiter: null };
await serve(createApp(services, { trustProxy: 1 }), Number(process.env.PORT), "127.0.0.1");
await serve(createApp(unlimited, { trustProxy: 1 }), Number(process.env.UNLIMITED_PORT), "127.0.0.1");
process.on("message", () => {
  const { user, system } = process.cpuUsage();
  process.send?.(user + system);
});
console.log("ready");
