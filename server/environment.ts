import { isIP } from "node:net";
import { resolve } from "node:path";
import { deflateRawSync } from "node:zlib";
import { z } from "zod";
import { must } from "./schemas/messages.ts";
import { isTimeZone } from "./schemas/user.ts";

const YEAR_SECONDS = 31_536_000;
/** Upper bound for polling intervals; `setTimeout` overflows after 24 days. */
const DAY_SECONDS = 86_400;
/** Each of them is tried on a cookie that none of them opens. */
const MAX_SECRETS = 5;

const seconds = (defaultSeconds: number, maxSeconds = YEAR_SECONDS) => {
  const error = must(`be a number of seconds above 0 and at most ${maxSeconds}`);
  return z.coerce.number({ error }).positive({ error }).max(maxSeconds, { error }).default(defaultSeconds);
};
/** A switch. `true` and `false` are accepted as well, because many tools write them. */
const onOff = (byDefault: "on" | "off") =>
  z
    .enum(["on", "off", "true", "false"], { error: must("be on or off") })
    .default(byDefault)
    .transform((value) => value === "on" || value === "true");
/** A pause, which may be none. */
const pauseSeconds = (maxSeconds: number) => {
  const error = must(`be a number of seconds from 0 to ${maxSeconds}`);
  return z.coerce.number({ error }).min(0, { error }).max(maxSeconds, { error });
};
const text = z.string().min(1);

const list = z.string().transform((parts) => parts.split(",").map((part) => part.trim()));

/** A list of exact origins, such as `https://app.example.com, https://admin.example.com`. */
const origins = (others: readonly string[] = []) =>
  list
    .transform((parts) => parts.filter((part) => part !== ""))
    .refine((parts) => parts.every((part) => others.includes(part) || isOrigin(part)), {
      error: must("be a list of exact origins, such as https://app.example.com,https://admin.example.com"),
    })
    .default([]);

const isOrigin = (text: string) =>
  !text.includes("*") &&
  URL.canParse(text) &&
  /^https?:$/.test(new URL(text).protocol) &&
  new URL(text).origin === text;

/** Express' `trust proxy`. Never `true`, with which clients could choose the address that rate limits count them by. */
const trustedProxies = list
  .refine((parts) => isNumber(parts) || parts.every(isProxy), {
    error: must("be a number of proxies, or a list of addresses and subnets"),
  })
  .transform((parts): false | number | string => (isNumber(parts) ? Number(parts[0]) : parts.join(",")));

const isNumber = ([first = "", ...others]: string[]) => others.length === 0 && /^\d+$/.test(first);

function isProxy(name: string): boolean {
  if (["loopback", "linklocal", "uniquelocal"].includes(name)) return true;
  const [address = "", bits = "0", ...rest] = name.split("/");
  const maxBits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  return rest.length === 0 && /^\d+$/.test(bits) && Number(bits) <= maxBits;
}

/** `pg` refuses several hosts with errors that do not say so, and ignores what says which of them to choose. */
function namesOneServer(url: string): boolean {
  const [address = "", query = ""] = url.split("?", 2);
  const parameters = new URLSearchParams(query);
  const hosts = `${address.replace(/^.*@/, "")} ${parameters.get("host") ?? ""}`;
  return !hosts.includes(",") && !parameters.has("target_session_attrs") && !parameters.has("load_balance_hosts");
}

const databaseUrl = text.refine(namesOneServer, {
  error: must(
    "name one host and no `target_session_attrs`; for several servers, use the address of a proxy that leads to the primary, such as HAProxy",
  ),
});

/** The settings of the database alone, for the command that needs no others. */
export const DatabaseEnvironment = z.object({
  DATABASE_URL: databaseUrl.optional(),
  DATABASE_OWNER_URL: databaseUrl.optional(),
  DATABASE_DIRECT_URL: databaseUrl.optional(),
});

/** What each environment variable may be, what it is read as, and its default. */
export const Environment = z.object({
  NODE_ENV: z.string().optional(),
  PORT: z.coerce.number().int().min(0).max(65_535).default(3000),
  HOST: text.optional(),
  PUBLIC_URL: z
    .url({ protocol: /^https?$/, error: must("be an address such as https://rebid.example.com") })
    .transform((address) => address.replace(/\/+$/, ""))
    .optional(),
  DATA_DIR: text.default(".data").transform((path) => resolve(path)),
  DATABASE_URL: databaseUrl.optional(),
  DATABASE_OWNER_URL: databaseUrl.optional(),
  DATABASE_DIRECT_URL: databaseUrl.optional(),
  DATABASE_POOLER: z
    .literal("transaction", { error: must("be transaction, the only mode of a pooler that is supported") })
    .optional(),
  DRAIN_SECONDS: pauseSeconds(600).optional(),
  DATABASE_REPLICA_URLS: list
    // The second of two hosts in one address would be a standby that is never reached, and nobody would notice.
    .refine((urls) => urls.every((url) => /^postgres(ql)?:\/\//.test(url) && namesOneServer(url)), {
      error: must(
        "be addresses such as postgres://standby1/rebid, each of one host, which commas separate (a comma in a password is %2C)",
      ),
    })
    .optional(),
  ROLE: z.enum(["all", "api", "worker"]).default("all"),
  APP_ORIGINS: origins(),
  CORS_ORIGINS: origins(["*"]),
  METRICS_PORT: z.coerce.number().int().min(1).max(65_535).optional(),
  METRICS_TOKEN: z
    .string()
    .regex(/^[!-~]{16,}$/, { error: must("be at least 16 visible ASCII characters without blanks") })
    .optional(),
  SESSION_SECRET: list
    .refine((secrets) => secrets.every((secret) => secret.length >= 32), {
      error: must("have at least 32 characters, and so must each of several, which commas separate"),
    })
    .refine((secrets) => secrets.length <= MAX_SECRETS, { error: must(`have at most ${MAX_SECRETS} secrets`) })
    .optional(),
  TRUST_PROXY: trustedProxies.default(false),
  STRIPE_SECRET_KEY: text.optional(),
  STRIPE_WEBHOOK_SECRET: list
    .transform((secrets) => secrets.filter((secret) => secret !== ""))
    .refine((secrets) => secrets.length > 0, { error: must("have a secret") })
    .optional(),
  STRIPE_API_BASE: z.url({ error: must("be an address such as http://localhost:12111") }).optional(),
  SMTP_URL: z
    .url({ protocol: /^smtps?$/, error: must("be an address such as smtps://user:password@smtp.example.com") })
    .optional(),
  MAIL_FROM: text
    .refine((from) => !/[\r\n]/.test(from) && /[^\s@<]@[^\s@>]/.test(from), {
      error: must("be an address such as Rebid <rebid@example.com>"),
    })
    .optional(),
  MAIL_EVENTS_SECRET: text.min(16, { error: must("have at least 16 characters") }).optional(),
  PASSWORD_BLOCKLIST: text.transform((value) => (value === "off" ? value : { file: resolve(value) })).optional(),
  S3_ENDPOINT: z.url({ error: must("be an address such as https://s3.example.com") }).optional(),
  S3_BUCKET: text.optional(),
  S3_REGION: text.default("us-east-1"),
  S3_ACCESS_KEY_ID: text.optional(),
  S3_SECRET_ACCESS_KEY: text.optional(),
  ACCEPTANCE_WINDOW_SECONDS: seconds(172_800),
  DELIVERY_GRACE_SECONDS: seconds(604_800),
  AGREEMENT_SECONDS: seconds(604_800),
  WEBHOOK_RETRY_SECONDS: z
    .string()
    .regex(/^\d+(\.\d+)?(,\d+(\.\d+)?)*$/, { error: must("be a list of seconds, such as 30,120,600") })
    .default("30,120,600,3600,21600")
    .transform((delays) => delays.split(",").map(Number))
    .refine((delays) => delays.every((delay) => delay <= YEAR_SECONDS), {
      error: must(`not contain more than ${YEAR_SECONDS} seconds`),
    }),
  WEBHOOK_TIMEOUT_SECONDS: seconds(10, DAY_SECONDS),
  PROCESSOR_POLL_SECONDS: seconds(300, DAY_SECONDS),
  OPERATOR_TIMEZONE: text
    .refine(isTimeZone, { error: must("be the IANA name of a time zone, such as Europe/Helsinki") })
    .default("UTC"),
  OPERATOR_NAME: text.optional(),
  OPERATOR_ADDRESS: text.optional(),
  OPERATOR_TAX_ID: text.optional(),
  OPERATOR_PAPER: z.enum(["A4", "Letter"]).default("A4"),
  WEBHOOK_ALLOW_INSECURE: onOff("off"),
  OAUTH_CLIENTS: text.transform((path) => resolve(path)).optional(),
  OAUTH_DYNAMIC_CLIENTS: onOff("off"),
  RATE_LIMITS: onOff("on"),
  SPAM_GUARD: onOff("on"),
  MODERATOR_TOTP: z
    .enum(["off", "required"])
    .default("off")
    .transform((value) => value === "required"),
  OTEL_EXPORTER_OTLP_ENDPOINT: z
    .url({ protocol: /^https?$/, error: must("be the address of a collector, such as http://localhost:4318") })
    .optional(),
  OTEL_SERVICE_NAME: text.default("rebid"),
  OTEL_TRACES_SAMPLER_ARG: z.coerce
    .number({ error: must("be a share from 0 to 1") })
    .min(0, { error: must("be a share from 0 to 1") })
    .max(1, { error: must("be a share from 0 to 1") })
    .default(1),
  LOG_LEVEL: z.enum(["fatal", "error", "warn", "info", "debug", "trace", "silent"]).default("info"),
});

/**
 * True for a placeholder, and for a text that is mostly repetition, such as one letter 32 times, a short word again and
 * again, or a row of neighbouring letters and digits. Repetition is what compression removes: of the text, or of the
 * distances between its characters, fewer than `minBytes` remain. Random hexadecimal digits lose nothing.
 */
export function isGuessable(secret: string, minBytes: number): boolean {
  if (/change.?me|replace.?me|your.?secret/i.test(secret)) return true;
  const codes = Buffer.from(secret);
  const distances = codes.map((code, index) => code - (codes[index - 1] ?? 0));
  return [codes, distances].some((bytes) => deflateRawSync(bytes, { level: 9 }).length < minBytes);
}

/** Whether an address is reached without TLS and over a network. */
export function isPlain(address: string | null | undefined, protocol: "http:" | "smtp:"): boolean {
  if (!address) return false;
  const url = new URL(address);
  return url.protocol === protocol && !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname);
}
