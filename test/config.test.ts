import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { ConfigError, productionWarnings, readConfig } from "../server/config.ts";
import { isGuessable } from "../server/environment.ts";

const upToADay = "must be a number of seconds above 0 and at most 86400.";

const oneHost = (name: string) =>
  `\`${name}\` must name one host and no \`target_session_attrs\`; for several servers, use the address of a proxy that leads to the primary, such as HAProxy.`;

const standbys =
  "`DATABASE_REPLICA_URLS` must be addresses such as postgres://standby1/rebid, each of one host, which commas separate (a comma in a password is %2C).";

describe("a wrong setting stops the start, and the message names it and says what to do", () => {
  test.each([
    ["PORT", "65536", "`PORT` must be an integer from 0 to 65,535."],
    ["PORT", "http", "`PORT` must be an integer from 0 to 65,535."],
    ["PUBLIC_URL", "ftp://rebid.example", "`PUBLIC_URL` must be an address such as https://rebid.example.com."],
    ["ROLE", "none", "`ROLE` must be one of: all, api, worker."],
    [
      "SESSION_SECRET",
      "short",
      "`SESSION_SECRET` must have at least 32 characters, and so must each of several, which commas separate.",
    ],
    ["TRUST_PROXY", "everyone", "`TRUST_PROXY` must be a number of proxies, or a list of addresses and subnets."],
    [
      "STRIPE_SECRET_KEY",
      "sk_test_without_webhook_secret",
      "Set STRIPE_WEBHOOK_SECRET together with STRIPE_SECRET_KEY: without it, events cannot be verified.",
    ],
    [
      "S3_BUCKET",
      "without-keys",
      "Set S3_BUCKET, S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY together, and S3_ENDPOINT unless the object store is Amazon's.",
    ],
    [
      "ACCEPTANCE_WINDOW_SECONDS",
      "0",
      "`ACCEPTANCE_WINDOW_SECONDS` must be a number of seconds above 0 and at most 31536000.",
    ],
    ["WEBHOOK_RETRY_SECONDS", "30,,60", "`WEBHOOK_RETRY_SECONDS` must be a list of seconds, such as 30,120,600."],
    ["WEBHOOK_RETRY_SECONDS", "-1", "`WEBHOOK_RETRY_SECONDS` must be a list of seconds, such as 30,120,600."],
    [
      "WEBHOOK_RETRY_SECONDS",
      "30,9999999999999",
      "`WEBHOOK_RETRY_SECONDS` must not contain more than 31536000 seconds.",
    ],
    // setTimeout overflows after 24 days, and would fire immediately.
    ["WEBHOOK_TIMEOUT_SECONDS", "2147484", `\`WEBHOOK_TIMEOUT_SECONDS\` ${upToADay}`],
    ["PROCESSOR_POLL_SECONDS", "2147484", `\`PROCESSOR_POLL_SECONDS\` ${upToADay}`],
    [
      "OPERATOR_TIMEZONE",
      "Mars/Olympus",
      "`OPERATOR_TIMEZONE` must be the IANA name of a time zone, such as Europe/Helsinki.",
    ],
    ["PROCESSOR_POLL_SECONDS", "often", `\`PROCESSOR_POLL_SECONDS\` ${upToADay}`],
    ["DATABASE_URL", "postgres://rebid:a,b@db1:5432,db2:5432/rebid", oneHost("DATABASE_URL")],
    ["DATABASE_URL", "postgres://rebid@/rebid?host=db1,db2", oneHost("DATABASE_URL")],
    ["DATABASE_OWNER_URL", "postgres://db/rebid?target_session_attrs=read-write", oneHost("DATABASE_OWNER_URL")],
    ["DATABASE_REPLICA_URLS", "postgres://db2/rebid,", standbys],
    ["DATABASE_REPLICA_URLS", "postgres://db2,db3/rebid", standbys],
    ["DATABASE_REPLICA_URLS", "postgres://db2/rebid,postgres://db3/rebid?target_session_attrs=standby", standbys],
    [
      "DATABASE_POOLER",
      "session",
      "`DATABASE_POOLER` must be transaction, the only mode of a pooler that is supported.",
    ],
    [
      "DATABASE_POOLER",
      "transaction",
      "Set DATABASE_URL to the pooler and DATABASE_DIRECT_URL to the database together with DATABASE_POOLER: workers, commands and migrations need sessions of their own.",
    ],
    [
      "DATABASE_DIRECT_URL",
      "postgres://db/rebid",
      "Set DATABASE_POOLER=transaction together with DATABASE_DIRECT_URL, or only DATABASE_URL.",
    ],
    ["RATE_LIMITS", "maybe", "`RATE_LIMITS` must be on or off."],
    ["WEBHOOK_ALLOW_INSECURE", "1", "`WEBHOOK_ALLOW_INSECURE` must be on or off."],
    ["SPAM_GUARD", "ON", "`SPAM_GUARD` must be on or off."],
    ["LOG_LEVEL", "loud", "`LOG_LEVEL` must be one of: fatal, error, warn, info, debug, trace, silent."],
  ])("%s=%s", (name, value, message) => {
    expect(() => readConfig({ [name]: value })).toThrow(new ConfigError(message));
  });
});

test("an address of the database may have any password, socket or parameters of one server", () => {
  const urls = ["postgres://rebid:a,b@db/rebid?sslmode=require", "postgres://rebid@/rebid?host=/run/postgresql"];
  for (const url of urls) expect(readConfig({ DATABASE_URL: url }).databaseUrl).toBe(url);
});

test("standbys are a list of addresses, and without it there are none", () => {
  const urls = ["postgres://db2/rebid", "postgres://db3/rebid?sslmode=require"];
  expect(readConfig({ DATABASE_REPLICA_URLS: urls.join(", ") }).replicaUrls).toEqual(urls);
  expect(readConfig({}).replicaUrls).toEqual([]);
});

test("each wrong setting has a line", () => {
  expect(() => readConfig({ PORT: "x", ROLE: "y" })).toThrow(
    new ConfigError("`PORT` must be an integer from 0 to 65,535.\n`ROLE` must be one of: all, api, worker."),
  );
});

test("every switch understands on and off, true and false", () => {
  for (const [name, read] of [
    ["RATE_LIMITS", "rateLimits"],
    ["SPAM_GUARD", "spamGuard"],
    ["WEBHOOK_ALLOW_INSECURE", "webhookAllowInsecure"],
  ] as const) {
    const values = ["on", "true", "off", "false"].map((value) => readConfig({ [name]: value })[read]);
    expect([name, ...values]).toEqual([name, true, true, false, false]);
  }
});

test("TRUST_PROXY takes a number, or names, addresses and subnets", () => {
  const read = (TRUST_PROXY: string) => readConfig({ TRUST_PROXY }).trustProxy;
  expect([read(""), read("0"), read("2")]).toEqual([false, 0, 2]);
  expect(read("loopback, 10.0.0.0/8, 2001:db8::1")).toBe("loopback,10.0.0.0/8,2001:db8::1");
  for (const wrong of ["true", "1,2", "10.0.0.0/33", "10.0.0.0/8/1", "-1", "loopback,"]) {
    expect(() => read(wrong)).toThrow("`TRUST_PROXY` must be a number of proxies");
  }
});

test("an empty variable counts as not set", () => {
  expect(readConfig({ PORT: "", WEBHOOK_RETRY_SECONDS: "" })).toEqual(readConfig({}));
  expect(readConfig({}).webhookRetrySeconds).toEqual([30, 120, 600, 3_600, 21_600]);
});

const production = {
  NODE_ENV: "production",
  PUBLIC_URL: "https://rebid.example.com",
  DATABASE_URL: "postgres://127.0.0.1/rebid",
  SESSION_SECRET: "a secret of the tests of 32 characters or more",
  STRIPE_SECRET_KEY: "sk_live_tests",
  STRIPE_WEBHOOK_SECRET: "whsec_Yq3vGx8LmT2bRk7ZpW4nHs9JdC6fAe1U",
  ...{ S3_BUCKET: "rebid", S3_ACCESS_KEY_ID: "test", S3_SECRET_ACCESS_KEY: "test" },
};

test("WEBHOOK_ALLOW_INSECURE is refused in production", () => {
  expect(readConfig(production).webhookAllowInsecure).toBe(false);
  expect(() => readConfig({ ...production, WEBHOOK_ALLOW_INSECURE: "on" })).toThrow("WEBHOOK_ALLOW_INSECURE");
});

test("a PUBLIC_URL without https is refused in production", () => {
  const insecure = { ...production, PUBLIC_URL: "http://rebid.example.com" };
  expect(() => readConfig(insecure)).toThrow("PUBLIC_URL must begin with https://");
  expect(readConfig({ ...insecure, NODE_ENV: "" }).publicUrl).toBe("http://rebid.example.com");
});

const random = "0b6f2c9de1a84753";
test.each([
  ["one letter", "a".repeat(32)],
  ["a placeholder", "changeme".repeat(4)],
  ["a placeholder with random digits", `please-change-me-${random}${random}`],
  ["a word again and again", "supersecretsupersecretsupersecret"],
  ["neighbours", "abcdefghijklmnopqrstuvwxyz0123456789"],
  ["digits in a row", "12345678901234567890123456789012"],
  ["a random one behind a weak one", `${"a".repeat(32)},5f0c7a1be93d42688d1c4ef0a97b3562`],
  ["a weak one behind a random one", `5f0c7a1be93d42688d1c4ef0a97b3562,${"ab".repeat(16)}`],
])("a secret that is %s is refused in production, and only there", (_, secret) => {
  expect(() => readConfig({ ...production, SESSION_SECRET: secret })).toThrow("SESSION_SECRET must be hard to guess");
  expect(readConfig({ SESSION_SECRET: secret })).toBeDefined();
});

test("a weak METRICS_TOKEN is refused in production", () => {
  expect(() => readConfig({ ...production, METRICS_TOKEN: "metricsmetricsmetrics" })).toThrow("METRICS_TOKEN");
  expect(readConfig({ ...production, METRICS_TOKEN: random }).metricsToken).toBe(random);
});

test.each([
  "x",
  "sk_live_Yq3vGx8LmT2bRk7ZpW4nHs9JdC6fAe1U",
  "whsec_",
  "whsec_tests",
  "whsec_changeme_Yq3vGx8LmT2bRk7ZpW4nHs9JdC6f",
  `whsec_${"a".repeat(32)}`,
  `${production.STRIPE_WEBHOOK_SECRET},x`,
])("a webhook secret of Stripe that anybody could guess is refused in production: %s", (secret) => {
  const settings = { ...production, STRIPE_WEBHOOK_SECRET: secret };
  expect(() => readConfig(settings)).toThrow("STRIPE_WEBHOOK_SECRET must be the signing secret that Stripe shows");
  expect(readConfig({ ...settings, NODE_ENV: "" }).processor).toBeDefined();
});

test.each([
  ["APP_ORIGINS", "https://app.example.com,http://app.example.com", "APP_ORIGINS must begin with https://"],
  ["APP_ORIGINS", "http://localhost:5173", "APP_ORIGINS must begin with https://"],
  ["STRIPE_API_BASE", "http://stripe.internal:12111", "STRIPE_API_BASE must begin with https://"],
  ["STRIPE_API_BASE", "http://127.0.0.1.example.com", "STRIPE_API_BASE must begin with https://"],
])("%s=%s is refused in production, and only there", (name, value, message) => {
  expect(() => readConfig({ ...production, [name]: value })).toThrow(message);
  expect(readConfig({ ...production, [name]: value, NODE_ENV: "" })).toBeDefined();
});

test("a payment processor over http is allowed in production on the same machine", () => {
  for (const address of ["http://localhost:12111", "http://127.0.0.1:12111", "http://[::1]:12111"]) {
    expect(readConfig({ ...production, STRIPE_API_BASE: address }).processor?.apiBase).toBe(address);
  }
});

test("each setting that production refuses has a line", () => {
  const wrong = { ...production, PUBLIC_URL: "http://rebid.example.com", STRIPE_WEBHOOK_SECRET: "x" };
  expect(() => readConfig(wrong)).toThrow(/^.*STRIPE_WEBHOOK_SECRET.*\n.*PUBLIC_URL.*$/);
});

test.each([
  ["STRIPE_SECRET_KEY", "sk_test_x", "STRIPE_SECRET_KEY is a test key"],
  ["STRIPE_SECRET_KEY", "rk_test_x", "STRIPE_SECRET_KEY is a test key"],
  ["S3_ENDPOINT", "http://s3.example.com", "S3_ENDPOINT is not https"],
  ["SMTP_URL", "smtp://user:password@smtp.example.com", "SMTP_URL is not smtps"],
  ["RATE_LIMITS", "off", "RATE_LIMITS is off"],
  ["OAUTH_DYNAMIC_CLIENTS", "on", "OAUTH_DYNAMIC_CLIENTS is on"],
])("production starts with %s=%s, with a warning", (name, value, message) => {
  const settings = { ...production, MAIL_FROM: "rebid@example.com", [name]: value };
  expect(productionWarnings(readConfig(settings))).toEqual([expect.stringContaining(message)]);
  expect(productionWarnings(readConfig({ ...settings, NODE_ENV: "" }))).toEqual([]);
});

test("production has nothing to warn of with real keys, https and limits", () => {
  const safe = {
    SMTP_URL: "smtps://smtp.example.com",
    MAIL_FROM: "rebid@example.com",
    S3_ENDPOINT: "https://s3.example",
  };
  expect(productionWarnings(readConfig({ ...production, ...safe }))).toEqual([]);
});

test("random secrets are never refused, however they are written", () => {
  for (let round = 0; round < 200; round++) {
    for (const encoding of ["hex", "base64url"] as const) {
      expect(isGuessable(randomBytes(24).toString(encoding), 20)).toBe(false);
      expect(isGuessable(randomBytes(12).toString(encoding), 12)).toBe(false);
    }
    expect(isGuessable(randomBytes(16).toString("hex"), 20)).toBe(false);
  }
});

test("lists of origins are exact, and any port of localhost is an app only outside production", () => {
  const { appOrigins, corsOrigins, trustLocalhost } = readConfig({
    ...production,
    APP_ORIGINS: "https://app.example.com, https://admin.example.com:8443",
    CORS_ORIGINS: "*",
  });
  expect([appOrigins, corsOrigins]).toEqual([["https://app.example.com", "https://admin.example.com:8443"], ["*"]]);
  expect([trustLocalhost, readConfig({}).trustLocalhost]).toEqual([false, true]);
  for (const wrong of [
    "*",
    "https://*.example.com",
    "app.example.com",
    "https://app.example.com/",
    "null",
    "https://a.example/b",
  ])
    expect(() => readConfig({ APP_ORIGINS: wrong })).toThrow("`APP_ORIGINS` must be a list of exact origins");
  expect(() => readConfig({ PORT: "4000", METRICS_PORT: "4000" })).toThrow("METRICS_PORT must differ from PORT");
});
