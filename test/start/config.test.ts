import { describe, expect, test } from "vitest";
import { ConfigError, readConfig } from "../../server/config.ts";

describe("a setting that could not work stops the start, and the message names it", () => {
  test.each([
    ["PORT", "65536"],
    ["PUBLIC_URL", "ftp://rebid.example"],
    ["ROLE", "none"],
    ["SESSION_SECRET", "short"],
    ["TRUST_PROXY", "everyone"],
    ["STRIPE_SECRET_KEY", "sk_test_without_webhook_secret"],
    ["S3_BUCKET", "without-keys"],
    ["ACCEPTANCE_WINDOW_SECONDS", "0"],
    ["WEBHOOK_RETRY_SECONDS", "30,,60"],
    ["WEBHOOK_RETRY_SECONDS", "-1"],
    ["WEBHOOK_RETRY_SECONDS", "30,9999999999999"],
    // A timer counts 24 days at most, and would ring at once.
    ["WEBHOOK_TIMEOUT_SECONDS", "2147484"],
    ["PROCESSOR_POLL_SECONDS", "2147484"],
    ["RATE_LIMITS", "maybe"],
    ["LOG_LEVEL", "loud"],
  ])("%s=%s", (name, value) => {
    const read = () => readConfig({ [name]: value });
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(name === "S3_BUCKET" ? "S3_SECRET_ACCESS_KEY" : name);
  });
});

test("a variable that is set to nothing counts as not set", () => {
  expect(readConfig({ PORT: "", WEBHOOK_RETRY_SECONDS: "" })).toEqual(readConfig({}));
  expect(readConfig({}).webhookRetrySeconds).toEqual([30, 120, 600, 3_600, 21_600]);
});
