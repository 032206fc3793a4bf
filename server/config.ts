import { isIP } from "node:net";
import { resolve } from "node:path";
import { z } from "zod";
import type { ProcessorSettings } from "./gateways/processor.ts";
import type { StorageSettings } from "./gateways/storage.ts";
import { must } from "./schemas/messages.ts";

const YEAR_SECONDS = 31_536_000;
/** Upper bound for polling intervals; `setTimeout` overflows after 24 days. */
const DAY_SECONDS = 86_400;

const seconds = (defaultSeconds: number, maxSeconds = YEAR_SECONDS) => {
  const error = must(`be a number of seconds above 0 and at most ${maxSeconds}`);
  return z.coerce.number({ error }).positive({ error }).max(maxSeconds, { error }).default(defaultSeconds);
};
const onOff = (value: "on" | "off") => z.enum(["on", "off"]).default(value);
const text = z.string().min(1);

const Environment = z.object({
  NODE_ENV: z.string().optional(),
  PORT: z.coerce.number().int().min(0).max(65_535).default(3000),
  HOST: text.optional(),
  PUBLIC_URL: z
    .url({ protocol: /^https?$/, error: must("be an address such as https://rebid.example.com") })
    .optional(),
  DATA_DIR: text.default(".data"),
  DATABASE_URL: text.optional(),
  ROLE: z.enum(["all", "api", "worker"]).default("all"),
  SESSION_SECRET: z.string().min(32).optional(),
  TRUST_PROXY: z.string().default(""),
  STRIPE_SECRET_KEY: text.optional(),
  STRIPE_WEBHOOK_SECRET: text.optional(),
  STRIPE_API_BASE: z.url({ error: must("be an address such as http://localhost:12111") }).optional(),
  S3_ENDPOINT: z.url({ error: must("be an address such as https://s3.example.com") }).optional(),
  S3_BUCKET: text.optional(),
  S3_REGION: text.default("us-east-1"),
  S3_ACCESS_KEY_ID: text.optional(),
  S3_SECRET_ACCESS_KEY: text.optional(),
  ACCEPTANCE_WINDOW_SECONDS: seconds(172_800),
  DELIVERY_GRACE_SECONDS: seconds(604_800),
  WEBHOOK_RETRY_SECONDS: z
    .string()
    .regex(/^\d+(\.\d+)?(,\d+(\.\d+)?)*$/, { error: must("be a list of seconds, such as 30,120,600") })
    .default("30,120,600,3600,21600")
    .transform((list) => list.split(",").map(Number))
    .refine((list) => list.every((delay) => delay <= YEAR_SECONDS), {
      error: must(`not contain more than ${YEAR_SECONDS} seconds`),
    }),
  WEBHOOK_TIMEOUT_SECONDS: seconds(10, DAY_SECONDS),
  PROCESSOR_POLL_SECONDS: seconds(300, DAY_SECONDS),
  WEBHOOK_ALLOW_INSECURE: z.enum(["", "0", "1", "true", "false", "on", "off"]).default(""),
  RATE_LIMITS: onOff("on"),
  SPAM_GUARD: onOff("on"),
  MODERATOR_TOTP: z.enum(["off", "required"]).default("off"),
  LOG_LEVEL: z.enum(["fatal", "error", "warn", "info", "debug", "trace", "silent"]).default("info"),
});

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
  readonly dataDirectory: string;
  readonly databaseUrl: string | null;
  readonly sessionSecret: string | null;
  /**
   * Express' `trust proxy`: a number of proxies, a list of subnets, or false. Never `true`, with which clients could choose
   * the address that rate limits count them by.
   */
  readonly trustProxy: false | number | string;
  readonly processor: ProcessorSettings | null;
  readonly storage: StorageSettings | null;
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
    dataDirectory: resolve(env.DATA_DIR),
    databaseUrl: env.DATABASE_URL ?? null,
    sessionSecret: env.SESSION_SECRET ?? null,
    trustProxy: parseTrustProxy(env.TRUST_PROXY),
    processor: readProcessor(env),
    storage: readStorage(env),
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
  if (production) requireProductionSettings(config);
  return Object.freeze(config);
}

function requireProductionSettings(config: Config): void {
  const missing = [
    config.databaseUrl ? null : "DATABASE_URL",
    config.sessionSecret ? null : "SESSION_SECRET",
    config.processor ? null : "STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET",
    config.storage ? null : "S3_BUCKET, S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY",
    config.publicUrl ? null : "PUBLIC_URL",
  ].filter((name) => name !== null);
  if (missing.length > 0) {
    throw new ConfigError(
      `With NODE_ENV=production, no embedded services are started. Set also: ${missing.join("; ")}.`,
    );
  }
  if (config.webhookAllowInsecure) {
    throw new ConfigError(
      "Unset WEBHOOK_ALLOW_INSECURE: it opens private addresses to webhooks, which is refused in production.",
    );
  }
}
