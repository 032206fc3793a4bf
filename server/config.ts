import { isIP } from "node:net";
import { resolve } from "node:path";
import type { z } from "zod";
import { Environment } from "./environment.ts";
import type { MailSettings } from "./gateways/mail.ts";
import type { ProcessorSettings } from "./gateways/processor.ts";
import type { StorageSettings } from "./gateways/storage.ts";
import { isGuessable } from "./guessable.ts";

const DEVELOPMENT_SENDER = "Rebid <rebid@localhost>";

/** Every setting, parsed and frozen. Null means not set. Outside production, embedded services replace missing ones. */
export interface Config {
  readonly production: boolean;
  readonly role: "all" | "api" | "worker";
  /** 0 lets the operating system choose a free port. */
  readonly port: number;
  /** Null listens on all interfaces in production and on loopback otherwise. */
  readonly host: string | null;
  /** The service's own address as clients see it, without a trailing slash; null means http://localhost:<port>. */
  readonly publicUrl: string | null;
  /** Origins whose pages may use the session cookie. */
  readonly appOrigins: readonly string[];
  /** Origins whose pages may use API keys; `*` is any. */
  readonly corsOrigins: readonly string[];
  /** Whether any port of localhost counts as one of `appOrigins`. */
  readonly trustLocalhost: boolean;
  /** A port that serves `/metrics` and nothing else. */
  readonly metricsPort: number | null;
  /** The bearer token with which the service's own port serves `/metrics`. */
  readonly metricsToken: string | null;
  readonly dataDirectory: string;
  readonly databaseUrl: string | null;
  /** The role that applies migrations outside production; null means the one of `databaseUrl`. */
  readonly databaseOwnerUrl: string | null;
  /** The newest first: it seals sessions, and each of them unseals. */
  readonly sessionSecrets: readonly string[] | null;
  /**
   * Express' `trust proxy`: a number of proxies, a list of subnets, or false. Never `true`, with which clients could choose
   * the address that rate limits count them by.
   */
  readonly trustProxy: false | number | string;
  readonly processor: ProcessorSettings | null;
  readonly storage: StorageSettings | null;
  readonly mail: MailSettings | null;
  /** The sender of mails, also for the embedded mailbox. */
  readonly mailFrom: string;
  readonly passwordBlocklist: PasswordBlocklist;
  readonly acceptanceWindowSeconds: number;
  readonly deliveryGraceSeconds: number;
  /** The pauses before the retries of a webhook delivery; their number is the number of retries. */
  readonly webhookRetrySeconds: readonly number[];
  readonly webhookTimeoutSeconds: number;
  readonly webhookAllowInsecure: boolean;
  readonly processorPollSeconds: number;
  /** Whether requests are limited by address and user. */
  readonly rateLimits: boolean;
  readonly spamGuard: boolean;
  /** Whether moderators must have signed in with a second factor to act as moderators. */
  readonly moderatorTotp: boolean;
  readonly logLevel: string;
}

/** Which common passwords nobody may choose: a list of our own, none, or those in a file, one a line. */
export type PasswordBlocklist = "builtIn" | "off" | { readonly file: string };

/** A setting is missing or wrong. The message is for the person who starts the service. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

const proxyNames = new Set(["loopback", "linklocal", "uniquelocal"]);

function isSubnet(text: string): boolean {
  const [address = "", bits = "0", ...rest] = text.split("/");
  const maxBits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  return rest.length === 0 && /^\d+$/.test(bits) && Number(bits) <= maxBits;
}

function parseTrustProxy(text: string): false | number | string {
  if (text === "" || text === "0" || text === "false") return false;
  if (/^\d+$/.test(text)) return Number(text);
  const wrong = text.split(",").find((part) => !proxyNames.has(part.trim()) && !isSubnet(part.trim()));
  if (wrong === undefined) return text;
  throw new ConfigError(
    `TRUST_PROXY must be a number of proxies, or a list of addresses and subnets; "${wrong}" is neither.`,
  );
}

function readStorage(env: z.infer<typeof Environment>): StorageSettings | null {
  const { S3_BUCKET, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY } = env;
  if (!env.S3_ENDPOINT && !S3_BUCKET && !S3_ACCESS_KEY_ID && !S3_SECRET_ACCESS_KEY) return null;
  if (!S3_BUCKET || !S3_ACCESS_KEY_ID || !S3_SECRET_ACCESS_KEY) {
    throw new ConfigError(
      "Set S3_BUCKET, S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY together, and S3_ENDPOINT unless the object store is Amazon's.",
    );
  }
  return {
    endpoint: env.S3_ENDPOINT ?? null,
    bucket: S3_BUCKET,
    region: env.S3_REGION,
    accessKeyId: S3_ACCESS_KEY_ID,
    secretAccessKey: S3_SECRET_ACCESS_KEY,
  };
}

function readProcessor(env: z.infer<typeof Environment>): ProcessorSettings | null {
  if (!env.STRIPE_SECRET_KEY) return null;
  const webhookSecrets = (env.STRIPE_WEBHOOK_SECRET ?? "")
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
  if (webhookSecrets.length === 0) {
    throw new ConfigError(
      "Set STRIPE_WEBHOOK_SECRET together with STRIPE_SECRET_KEY: without it, events cannot be verified.",
    );
  }
  return { secretKey: env.STRIPE_SECRET_KEY, webhookSecrets, apiBase: env.STRIPE_API_BASE ?? null };
}

function readMail({ SMTP_URL, MAIL_FROM }: z.infer<typeof Environment>): MailSettings | null {
  if (!SMTP_URL) return null;
  if (!MAIL_FROM) throw new ConfigError("Set MAIL_FROM together with SMTP_URL: it is the sender of all mails.");
  return { smtpUrl: SMTP_URL, from: MAIL_FROM };
}

function readBlocklist({ PASSWORD_BLOCKLIST }: z.infer<typeof Environment>, production: boolean): PasswordBlocklist {
  if (PASSWORD_BLOCKLIST === undefined) return production ? "builtIn" : "off";
  return PASSWORD_BLOCKLIST === "off" ? "off" : { file: resolve(PASSWORD_BLOCKLIST) };
}

/** Parses the environment. Throws ConfigError with one line for each wrong setting. */
export function readConfig(environment: Record<string, string | undefined>): Config {
  // An empty variable counts as not set, as in `PORT= npm start`.
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ""));
  const parsed = Environment.safeParse(given);
  if (!parsed.success) {
    throw new ConfigError(parsed.error.issues.map(({ message }) => message).join("\n"));
  }
  const env = parsed.data;
  const production = env.NODE_ENV === "production";
  const config: Config = {
    production,
    role: env.ROLE,
    port: env.PORT,
    host: env.HOST ?? null,
    publicUrl: env.PUBLIC_URL?.replace(/\/+$/, "") ?? null,
    appOrigins: env.APP_ORIGINS,
    corsOrigins: env.CORS_ORIGINS,
    trustLocalhost: !production,
    metricsPort: env.METRICS_PORT ?? null,
    metricsToken: env.METRICS_TOKEN ?? null,
    dataDirectory: resolve(env.DATA_DIR),
    databaseUrl: env.DATABASE_URL ?? null,
    databaseOwnerUrl: env.DATABASE_OWNER_URL ?? null,
    sessionSecrets: env.SESSION_SECRET ?? null,
    trustProxy: parseTrustProxy(env.TRUST_PROXY),
    processor: readProcessor(env),
    storage: readStorage(env),
    mail: readMail(env),
    mailFrom: env.MAIL_FROM ?? DEVELOPMENT_SENDER,
    passwordBlocklist: readBlocklist(env, production),
    acceptanceWindowSeconds: env.ACCEPTANCE_WINDOW_SECONDS,
    deliveryGraceSeconds: env.DELIVERY_GRACE_SECONDS,
    webhookRetrySeconds: env.WEBHOOK_RETRY_SECONDS,
    webhookTimeoutSeconds: env.WEBHOOK_TIMEOUT_SECONDS,
    webhookAllowInsecure: ["1", "true", "on"].includes(env.WEBHOOK_ALLOW_INSECURE),
    processorPollSeconds: env.PROCESSOR_POLL_SECONDS,
    rateLimits: env.RATE_LIMITS === "on",
    spamGuard: env.SPAM_GUARD === "on",
    moderatorTotp: env.MODERATOR_TOTP === "required",
    logLevel: env.LOG_LEVEL,
  };
  if (config.metricsPort !== null && config.metricsPort === config.port) {
    throw new ConfigError("METRICS_PORT must differ from PORT.");
  }
  if (production) requireProductionSettings(config);
  return Object.freeze(config);
}

/** What must be left of secrets of at least 32 and 16 characters without their repetitions. */
const MIN_SECRET_BYTES = 20;
const MIN_TOKEN_BYTES = 12;

function requireProductionSettings(config: Config): void {
  const missing = [
    config.databaseUrl ? null : "DATABASE_URL",
    config.sessionSecrets ? null : "SESSION_SECRET",
    config.processor ? null : "STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET",
    config.storage ? null : "S3_BUCKET, S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY",
    config.publicUrl ? null : "PUBLIC_URL",
  ].filter((name) => name !== null);
  if (missing.length > 0) {
    throw new ConfigError(
      `With NODE_ENV=production, no embedded services are started. Set also: ${missing.join("; ")}.`,
    );
  }
  if (!config.publicUrl?.startsWith("https:")) {
    throw new ConfigError(
      "With NODE_ENV=production, PUBLIC_URL must begin with https://: the session cookie is only sent over https.",
    );
  }
  for (const [name, secret, minBytes] of [
    ...(config.sessionSecrets ?? []).map((secret) => ["SESSION_SECRET", secret, MIN_SECRET_BYTES] as const),
    ["METRICS_TOKEN", config.metricsToken, MIN_TOKEN_BYTES] as const,
  ]) {
    if (secret !== null && isGuessable(secret, minBytes)) {
      throw new ConfigError(
        `With NODE_ENV=production, ${name} must be hard to guess. This one is a placeholder or repeats itself. Use a random one, such as the output of \`openssl rand -hex 32\`.`,
      );
    }
  }
  if (config.webhookAllowInsecure) {
    throw new ConfigError(
      "Unset WEBHOOK_ALLOW_INSECURE: it opens private addresses to webhooks, which is refused in production.",
    );
  }
}
