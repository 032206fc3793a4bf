import type { z } from "zod";
import { DatabaseEnvironment, Environment, isGuessable, isPlain } from "./environment.ts";
import type { MailSettings } from "./gateways/mail.ts";
import type { ProcessorSettings } from "./gateways/processor.ts";
import type { StorageSettings } from "./gateways/storage.ts";

const DEVELOPMENT_SENDER = "Rebid <rebid@localhost>";

/** Every setting, parsed and frozen. Null means not set. Outside production, embedded services replace missing ones. */
export interface Config {
  readonly production: boolean;
  readonly role: "all" | "api" | "worker";
  /** How long a process that was told to stop says so on `/readyz` and still answers, so that balancers leave it. */
  readonly drainSeconds: number;
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
  /** A pooler in transaction mode in front of the same database, for requests. */
  readonly pooledUrl: string | null;
  /** Standbys of the database, for reads that anybody may make. */
  readonly replicaUrls: readonly string[];
  /** The role that applies migrations outside production; null means the one of `databaseUrl`. */
  readonly databaseOwnerUrl: string | null;
  /** The newest first: it encrypts, and each of them decrypts. */
  readonly sessionSecrets: readonly string[] | null;
  /** Express' `trust proxy`: a number of proxies, or a list of subnets. */
  readonly trustProxy: false | number | string;
  readonly processor: ProcessorSettings | null;
  readonly storage: StorageSettings | null;
  readonly mail: MailSettings | null;
  /** The sender of mails, also for the embedded mailbox. */
  readonly mailFrom: string;
  /** Signs what the mail server reports of bounces and complaints; null takes no reports. */
  readonly mailEventsSecret: string | null;
  readonly passwordBlocklist: PasswordBlocklist;
  readonly acceptanceWindowSeconds: number;
  readonly deliveryGraceSeconds: number;
  /** How long the other side has to answer what one side proposes. */
  readonly agreementSeconds: number;
  /** The pauses before the retries of a webhook delivery; their number is the number of retries. */
  readonly webhookRetrySeconds: readonly number[];
  readonly webhookTimeoutSeconds: number;
  readonly webhookAllowInsecure: boolean;
  readonly processorPollSeconds: number;
  readonly oauthClientsFile: string | null;
  readonly oauthDynamicClients: boolean;
  /** Whose months statements have. */
  readonly operatorTimeZone: string;
  /** Who runs the service, as receipts say it. */
  readonly operator: { readonly name: string | null; readonly address: string | null; readonly taxId: string | null };
  /** The size of papers. */
  readonly operatorPaper: "A4" | "Letter";
  /** Whether requests are limited by address and user. */
  readonly rateLimits: boolean;
  readonly spamGuard: boolean;
  /** Whether moderators must have signed in with a second factor to act as moderators. */
  readonly moderatorTotp: boolean;
  /** Where spans are sent, under which name, and of what share of all traces, from 0 to 1. */
  readonly tracing: { readonly endpoint: string; readonly serviceName: string; readonly share: number } | null;
  readonly logLevel: string;
}

/** Which common passwords nobody may choose: a list of our own, none, or those in a file, one a line. */
export type PasswordBlocklist = "builtIn" | "off" | { readonly file: string };

/** A setting is missing or wrong. The message is for the person who starts the service. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
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
  const { STRIPE_SECRET_KEY: secretKey, STRIPE_WEBHOOK_SECRET: webhookSecrets, STRIPE_API_BASE: apiBase = null } = env;
  if (!secretKey) return null;
  if (!webhookSecrets) {
    throw new ConfigError(
      "Set STRIPE_WEBHOOK_SECRET together with STRIPE_SECRET_KEY: without it, events cannot be verified.",
    );
  }
  return { secretKey, webhookSecrets, apiBase };
}

function readDatabase(env: z.infer<typeof Environment>): Pick<Config, "databaseUrl" | "pooledUrl"> {
  const { DATABASE_URL = null, DATABASE_DIRECT_URL = null, DATABASE_POOLER } = env;
  if (DATABASE_POOLER === undefined) {
    if (DATABASE_DIRECT_URL === null) return { databaseUrl: DATABASE_URL, pooledUrl: null };
    throw new ConfigError("Set DATABASE_POOLER=transaction together with DATABASE_DIRECT_URL, or only DATABASE_URL.");
  }
  if (DATABASE_URL === null || DATABASE_DIRECT_URL === null) {
    throw new ConfigError(
      "Set DATABASE_URL to the pooler and DATABASE_DIRECT_URL to the database together with DATABASE_POOLER: workers, commands and migrations need sessions of their own.",
    );
  }
  return { databaseUrl: DATABASE_DIRECT_URL, pooledUrl: DATABASE_URL };
}

function readMail({ SMTP_URL, MAIL_FROM }: z.infer<typeof Environment>): MailSettings | null {
  if (!SMTP_URL) return null;
  if (!MAIL_FROM) throw new ConfigError("Set MAIL_FROM together with SMTP_URL: it is the sender of all mails.");
  return { smtpUrl: SMTP_URL, from: MAIL_FROM };
}

function readTracing(env: z.infer<typeof Environment>): Config["tracing"] {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_SERVICE_NAME: serviceName, OTEL_TRACES_SAMPLER_ARG: share } = env;
  return endpoint === undefined ? null : { endpoint, serviceName, share };
}

function parse<Settings>(schema: z.ZodType<Settings>, environment: Record<string, string | undefined>): Settings {
  // An empty variable counts as not set, as in `PORT= npm start`.
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ""));
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  throw new ConfigError(parsed.error.issues.map(({ message }) => message).join("\n"));
}

/** The addresses of the database, for whoever needs no other settings. Throws ConfigError. */
export const readDatabaseUrls = (environment: Record<string, string | undefined>) =>
  parse(DatabaseEnvironment, environment);

/** Parses the environment. Throws ConfigError with one line for each wrong setting. */
export function readConfig(environment: Record<string, string | undefined>): Config {
  const env = parse(Environment, environment);
  const production = env.NODE_ENV === "production";
  const config: Config = {
    production,
    role: env.ROLE,
    drainSeconds: env.DRAIN_SECONDS ?? (production ? 5 : 0),
    port: env.PORT,
    host: env.HOST ?? null,
    publicUrl: env.PUBLIC_URL ?? null,
    appOrigins: env.APP_ORIGINS,
    corsOrigins: env.CORS_ORIGINS,
    trustLocalhost: !production,
    metricsPort: env.METRICS_PORT ?? null,
    metricsToken: env.METRICS_TOKEN ?? null,
    dataDirectory: env.DATA_DIR,
    ...readDatabase(env),
    replicaUrls: env.DATABASE_REPLICA_URLS ?? [],
    databaseOwnerUrl: env.DATABASE_OWNER_URL ?? null,
    sessionSecrets: env.SESSION_SECRET ?? null,
    trustProxy: env.TRUST_PROXY,
    processor: readProcessor(env),
    storage: readStorage(env),
    mail: readMail(env),
    mailFrom: env.MAIL_FROM ?? DEVELOPMENT_SENDER,
    mailEventsSecret: env.MAIL_EVENTS_SECRET ?? null,
    passwordBlocklist: env.PASSWORD_BLOCKLIST ?? (production ? "builtIn" : "off"),
    acceptanceWindowSeconds: env.ACCEPTANCE_WINDOW_SECONDS,
    deliveryGraceSeconds: env.DELIVERY_GRACE_SECONDS,
    agreementSeconds: env.AGREEMENT_SECONDS,
    webhookRetrySeconds: env.WEBHOOK_RETRY_SECONDS,
    webhookTimeoutSeconds: env.WEBHOOK_TIMEOUT_SECONDS,
    webhookAllowInsecure: env.WEBHOOK_ALLOW_INSECURE,
    oauthClientsFile: env.OAUTH_CLIENTS ?? null,
    oauthDynamicClients: env.OAUTH_DYNAMIC_CLIENTS,
    processorPollSeconds: env.PROCESSOR_POLL_SECONDS,
    operatorTimeZone: env.OPERATOR_TIMEZONE,
    operator: {
      name: env.OPERATOR_NAME ?? null,
      address: env.OPERATOR_ADDRESS ?? null,
      taxId: env.OPERATOR_TAX_ID ?? null,
    },
    operatorPaper: env.OPERATOR_PAPER,
    rateLimits: env.RATE_LIMITS,
    spamGuard: env.SPAM_GUARD,
    moderatorTotp: env.MODERATOR_TOTP,
    tracing: readTracing(env),
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

/** Throws ConfigError with a line for each setting that a production service must not start with. */
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
  const refusals = [...weakSecrets(config), ...exposedSettings(config)];
  if (refusals.length > 0) {
    throw new ConfigError(refusals.map((refusal) => `With NODE_ENV=production, ${refusal}`).join("\n"));
  }
}

function weakSecrets({ sessionSecrets, metricsToken, mailEventsSecret, processor }: Config): string[] {
  const isWeak = {
    SESSION_SECRET: (sessionSecrets ?? []).some((secret) => isGuessable(secret, MIN_SECRET_BYTES)),
    METRICS_TOKEN: metricsToken !== null && isGuessable(metricsToken, MIN_TOKEN_BYTES),
    MAIL_EVENTS_SECRET: mailEventsSecret !== null && isGuessable(mailEventsSecret, MIN_TOKEN_BYTES),
  };
  const weak = Object.entries(isWeak).flatMap(([name, weak]) => (weak ? [name] : []));
  const refusals = weak.map(
    (name) =>
      `${name} must be hard to guess. This one is a placeholder or repeats itself. Use a random one, such as the output of \`openssl rand -hex 32\`.`,
  );
  const isSigningSecret = (secret: string) =>
    secret.startsWith("whsec_") && !isGuessable(secret.slice("whsec_".length), MIN_SECRET_BYTES);
  if (!processor?.webhookSecrets.every(isSigningSecret)) {
    refusals.push(
      "STRIPE_WEBHOOK_SECRET must be the signing secret that Stripe shows for your webhook endpoint: `whsec_` and random characters. With a secret that can be guessed, anybody can report payments that were never made.",
    );
  }
  return refusals;
}

/** What would let others read or forge what the service relies on. */
function exposedSettings({ publicUrl, appOrigins, processor, webhookAllowInsecure }: Config): string[] {
  const refusals: string[] = [];
  if (!publicUrl?.startsWith("https:")) {
    refusals.push("PUBLIC_URL must begin with https://: the session cookie is only sent over https.");
  }
  const plain = appOrigins.filter((origin) => !origin.startsWith("https:"));
  if (plain.length > 0) {
    refusals.push(
      `APP_ORIGINS must begin with https://: whoever is on the way to ${plain.join(", ")} could act with the session of its visitors.`,
    );
  }
  if (isPlain(processor?.apiBase, "http:")) {
    refusals.push(
      "STRIPE_API_BASE must begin with https://, unless it is on this machine: the secret key is sent there, and its answers move money.",
    );
  }
  if (webhookAllowInsecure) {
    refusals.push("WEBHOOK_ALLOW_INSECURE must not be set: it opens private addresses to webhooks.");
  }
  return refusals;
}

/** What a production service starts with although it is unlikely to be meant, a sentence each. */
export function productionWarnings({
  production,
  processor,
  storage,
  mail,
  rateLimits,
  oauthDynamicClients,
}: Config): string[] {
  if (!production) return [];
  const warnings: string[] = [];
  if (/^[sr]k_test_/.test(processor?.secretKey ?? "")) {
    warnings.push("STRIPE_SECRET_KEY is a test key: top-ups and payouts move no real money");
  }
  if (isPlain(storage?.endpoint, "http:")) {
    warnings.push("S3_ENDPOINT is not https: files, and the addresses that open them, can be read on the way");
  }
  if (isPlain(mail?.smtpUrl, "smtp:")) {
    warnings.push("SMTP_URL is not smtps: links that reset passwords can be read on the way if the server has no TLS");
  }
  if (oauthDynamicClients)
    warnings.push("OAUTH_DYNAMIC_CLIENTS is on: any program can register itself, under any name");
  if (!rateLimits) warnings.push("RATE_LIMITS is off: anybody can send any number of requests and guess passwords");
  return warnings;
}
