/** What a deployment provides: here, the embedded services of a development process that runs in the checkout. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import getPort from "get-port";
import pg from "pg";
import { z } from "zod";
import { machineEnvironment, type Started, startProcess } from "./processes.ts";

/** What a development service writes to `local.json`, as far as it is needed here. */
const Embedded = z.object({
  databaseUrl: z.string(),
  databaseOwnerUrl: z.string(),
  s3: z.object({
    endpoint: z.string(),
    bucket: z.string(),
    region: z.string(),
    accessKeyId: z.string(),
    secretAccessKey: z.string(),
  }),
  processor: z.object({ apiBase: z.string(), secretKey: z.string(), webhookSecret: z.string() }),
});
type Embedded = z.infer<typeof Embedded>;

const checkout = join(import.meta.dirname, "../..");

/** Starts a development service in the checkout, with the addresses and keys of its embedded services. */
export async function startEmbedded(dataDirectory: string, started: Started[]): Promise<Embedded> {
  const env = {
    ...machineEnvironment(),
    DATA_DIR: dataDirectory,
    PORT: String(await getPort()),
    ROLE: "api",
    LOG_LEVEL: "error",
  };
  const service = startProcess(process.execPath, ["server/start/main.ts"], { cwd: checkout, env });
  started.push(service);
  await service.ready;
  return Embedded.parse(JSON.parse(await readFile(join(dataDirectory, "local.json"), "utf8")));
}

/** The settings of a production process on these services, with an empty database of its own. */
export async function productionSettings({ databaseUrl, databaseOwnerUrl, s3, processor }: Embedded) {
  const admin = new pg.Client({ connectionString: databaseOwnerUrl });
  await admin.connect();
  await admin.query("CREATE DATABASE production");
  await admin.end();
  const inProduction = (url: string) => Object.assign(new URL(url), { pathname: "/production" }).href;
  return {
    DATABASE_OWNER_URL: inProduction(databaseOwnerUrl),
    NODE_ENV: "production",
    HOST: "127.0.0.1",
    LOG_LEVEL: "error",
    PUBLIC_URL: "https://rebid.example",
    DATABASE_URL: inProduction(databaseUrl),
    SESSION_SECRET: "a secret of the installation check",
    S3_ENDPOINT: s3.endpoint,
    S3_BUCKET: s3.bucket,
    S3_REGION: s3.region,
    S3_ACCESS_KEY_ID: s3.accessKeyId,
    S3_SECRET_ACCESS_KEY: s3.secretAccessKey,
    STRIPE_API_BASE: processor.apiBase,
    STRIPE_SECRET_KEY: processor.secretKey,
    STRIPE_WEBHOOK_SECRET: processor.webhookSecret,
  };
}
