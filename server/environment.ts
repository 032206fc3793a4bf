import { z } from "zod";
import { must } from "./schemas/messages.ts";

const YEAR_SECONDS = 31_536_000;
/** Upper bound for polling intervals; `setTimeout` overflows after 24 days. */
const DAY_SECONDS = 86_400;
/** Each of them is tried on a cookie that none of them opens. */
const MAX_SECRETS = 5;

const seconds = (defaultSeconds: number, maxSeconds = YEAR_SECONDS) => {
  const error = must(`be a number of seconds above 0 and at most ${maxSeconds}`);
  return z.coerce.number({ error }).positive({ error }).max(maxSeconds, { error }).default(defaultSeconds);
};
const onOff = (value: "on" | "off") => z.enum(["on", "off"]).default(value);
const text = z.string().min(1);

/** A list of exact origins, such as `https://app.example.com, https://admin.example.com`. */
const origins = (others: readonly string[] = []) =>
  z
    .string()
    .default("")
    .transform((list) =>
      list
        .split(",")
        .map((part) => part.trim())
        .filter((part) => part !== ""),
    )
    .refine((list) => list.every((part) => others.includes(part) || isOrigin(part)), {
      error: must("be a list of exact origins, such as https://app.example.com,https://admin.example.com"),
    });

const isOrigin = (text: string) =>
  !text.includes("*") &&
  URL.canParse(text) &&
  /^https?:$/.test(new URL(text).protocol) &&
  new URL(text).origin === text;

/** What each environment variable may be, and its default. */
export const Environment = z.object({
  NODE_ENV: z.string().optional(),
  PORT: z.coerce.number().int().min(0).max(65_535).default(3000),
  HOST: text.optional(),
  PUBLIC_URL: z
    .url({ protocol: /^https?$/, error: must("be an address such as https://rebid.example.com") })
    .optional(),
  DATA_DIR: text.default(".data"),
  DATABASE_URL: text.optional(),
  DATABASE_OWNER_URL: text.optional(),
  ROLE: z.enum(["all", "api", "worker"]).default("all"),
  APP_ORIGINS: origins(),
  CORS_ORIGINS: origins(["*"]),
  METRICS_PORT: z.coerce.number().int().min(1).max(65_535).optional(),
  METRICS_TOKEN: z
    .string()
    .regex(/^[!-~]{16,}$/, { error: must("be at least 16 visible ASCII characters without blanks") })
    .optional(),
  SESSION_SECRET: z
    .string()
    .transform((list) => list.split(",").map((secret) => secret.trim()))
    .refine((secrets) => secrets.every((secret) => secret.length >= 32), {
      error: must("have at least 32 characters, and so must each of several, which commas separate"),
    })
    .refine((secrets) => secrets.length <= MAX_SECRETS, { error: must(`have at most ${MAX_SECRETS} secrets`) })
    .optional(),
  TRUST_PROXY: z.string().default(""),
  STRIPE_SECRET_KEY: text.optional(),
  STRIPE_WEBHOOK_SECRET: text.optional(),
  STRIPE_API_BASE: z.url({ error: must("be an address such as http://localhost:12111") }).optional(),
  SMTP_URL: z
    .url({ protocol: /^smtps?$/, error: must("be an address such as smtps://user:password@smtp.example.com") })
    .optional(),
  MAIL_FROM: text
    .refine((from) => !/[\r\n]/.test(from) && /[^\s@<]@[^\s@>]/.test(from), {
      error: must("be an address such as Rebid <rebid@example.com>"),
    })
    .optional(),
  PASSWORD_BLOCKLIST: text.optional(),
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
