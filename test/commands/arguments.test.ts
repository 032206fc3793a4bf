import { describe, expect, test } from "vitest";
import { parse as listen } from "../../server/commands/listen.ts";
import { command as moderator } from "../../server/commands/moderator.ts";
import { UsageError } from "../../server/commands/runCommand.ts";
import { command as webhooks } from "../../server/commands/webhooks.ts";
import { runScript } from "../setup/commandProcess.ts";

const commands = ["audit", "demo", "fees", "listen", "moderator", "reconcile", "seed", "tax", "webhooks"];
const uuid = "019a0000-0000-7000-8000-000000000000";

/** Nothing runs there, so a command that opened anything would fail with another message. */
const env = { DATA_DIR: "/nonexistent/rebid", PORT: "1" };

describe("a process", () => {
  test.each([
    ...commands.map((name) => [name, ["--help"]] as const),
    ["webhooks", ["replay", "-h"]] as const,
    ["moderator", ["help"]] as const,
  ])("npm run %s -- %j prints the usage and exits with 0", async (name, words) => {
    const { code, stdout, stderr } = await runScript(name, words, env);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain("\nUsage");
    expect(stdout).toContain(`  npm run ${name}`);
  });

  test.each([
    ...commands.map((name) => [name, ["--bogus"], /^Unknown (option|subcommand).*--bogus/] as const),
    ["demo", ["a", "b"], /^Unexpected argument: a b\n/] as const,
    ["moderator", ["list", "--note", "x"], /^Unknown option '--note'\.\n/] as const,
  ])(
    "npm run %s -- %j reports the mistake above the usage and exits with 2, before it does anything",
    async (name, words, mistake) => {
      const { code, stdout, stderr } = await runScript(name, words, env);
      expect([code, stdout]).toEqual([2, ""]);
      expect(stderr).toMatch(mistake);
      expect(stderr).toContain(`\n  npm run ${name}`);
      expect(stderr).not.toMatch(/^ +at /m);
    },
  );
});

describe("arguments that make no sense are refused before anything is opened", () => {
  test.each([
    [
      [],
      "A subcommand is required: add, remove, list, users, suspend, reinstate, remove-totp, disputes, resolve, reset-password.",
    ],
    [["promote"], "Unknown subcommand: promote."],
    [["constructor"], "Unknown subcommand: constructor."],
    [["add"], "An email address is required."],
    [["add", "not an address"], '"not an address" is not a valid email address.'],
    [["add", "a@example.com", "b@example.com"], "Unexpected argument: b@example.com"],
    [["disputes", "now"], "Unexpected argument: now"],
    [["resolve"], "The ID of a dispute and a decision are required."],
    [["resolve", "x", "refund"], 'ID must be a UUID, not "x".'],
    [["resolve", uuid, "keep"], 'The decision must be refund, release or split, not "keep".'],
    [["resolve", uuid, "split", "1.5"], 'CENTS must be a positive integer, not "1.5".'],
    [["resolve", uuid, "split"], "split needs CENTS, the bidder's share."],
    [["resolve", uuid, "refund", "100"], "Only split takes CENTS."],
    [["resolve", uuid, "split", "1", "2"], "Unexpected argument: 2"],
    [["resolve", uuid, "refund", "--note", "x".repeat(2_001)], "`note` must have at most 2,000 characters"],
  ])("moderator %j", (words, mistake) => {
    expect(() => moderator.parse(words)).toThrow(UsageError);
    expect(() => moderator.parse(words)).toThrow(mistake);
  });

  test("moderator resolve … --note without a text", () => {
    const words = ["resolve", uuid, "refund", "--note"];
    expect(() => moderator.parse(words)).toThrow(
      expect.objectContaining({ code: "ERR_PARSE_ARGS_INVALID_OPTION_VALUE" }),
    );
  });

  test.each([
    [[], "A subcommand is required: replay."],
    [["replay"], "DELIVERY_ID or --since is required."],
    [["replay", "one"], 'DELIVERY_ID must be a UUID, not "one".'],
    [["replay", "--since", "yesterday"], "--since must be an ISO 8601 timestamp"],
    [["replay", uuid, uuid], "Unexpected argument"],
    [["replay", uuid, "--endpoint", uuid], "DELIVERY_ID cannot be combined with --since or --endpoint."],
    [["replay", "--since", "2026-11-20T00:00:00Z", "--endpoint", "x"], '--endpoint must be a UUID, not "x".'],
  ])("webhooks %j", (words, mistake) => {
    expect(() => webhooks.parse(words)).toThrow(UsageError);
    expect(() => webhooks.parse(words)).toThrow(mistake);
  });

  test.each([
    [["--events", "task.created,task.lost"], "Unknown event type: task.lost"],
    [["--forward-to", "ftp://localhost/hook"], "--forward-to must be an HTTP address"],
    [["--forward-to", ""], "--forward-to must be an HTTP address"],
    [["--forward-to", "http://"], "--forward-to must be an HTTP address"],
  ])("listen %j", (words, mistake) => {
    expect(() => listen(words)).toThrow(UsageError);
    expect(() => listen(words)).toThrow(mistake);
  });
});
