import getPort from "get-port";
import { pino } from "pino";
import { createApp } from "../../server/http/app.ts";
import { serve } from "../../server/http/server.ts";
import { createServices, type Services } from "../../server/services.ts";
import { requestPool } from "../../server/store/poolSettings.ts";

interface Options {
  replicaUrls?: readonly string[];
  /** Where to add what stops it. */
  stops: (() => Promise<void>)[];
}

/** The API alone, on a migrated cluster, with nothing behind it but the database. */
export async function startService(
  databaseUrl: string,
  { replicaUrls = [], stops }: Options,
): Promise<{ url: string; services: Services }> {
  const nowhere = "http://127.0.0.1:9";
  const { services, close } = createServices(
    {
      databaseUrl,
      sessionSecrets: ["a secret of the tests of 32 characters or more"],
      mail: null,
      processor: { secretKey: "sk_test_none", webhookSecrets: [], apiBase: nowhere },
      storage: { endpoint: nowhere, bucket: "none", region: "none", accessKeyId: "none", secretAccessKey: "none" },
    },
    {
      settings: {
        publicUrl: "http://127.0.0.1",
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
      pool: requestPool,
      replicaUrls,
      limiter: null,
      log: pino({ level: "silent" }),
    },
  );
  stops.push(close);
  const port = await getPort();
  const server = await serve(createApp(services, { trustProxy: false }), port, "127.0.0.1");
  stops.push(() => server.stop());
  return { url: `http://127.0.0.1:${port}`, services };
}
