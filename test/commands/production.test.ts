import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";
import { operatorSettings, runScript } from "../setup/commandProcess.ts";
import { useService } from "../setup/testService.ts";

const service = useService();
const settings = () => ({ NODE_ENV: "production", ...operatorSettings(service), PUBLIC_URL: "https://rebid.test" });

/** A production installation does not have the embedded services: importing them fails here, as it would there. */
const withoutLocal = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from "node:module";
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier.includes("local/")) throw new Error("server/local is not installed");
      return next(specifier, context);
    },
  });
`)}`;
const nodeOptions = ["--import", withoutLocal];

test("outside production the hook is noticed, so these tests test something", async () => {
  const { code, stderr } = await runScript("moderator", ["list"], { DATA_DIR: "/nowhere" }, nodeOptions);
  expect([code, stderr]).toEqual([1, expect.stringContaining("server/local is not installed")]);
});

test.each([
  ["moderator", ["list"], 0, "There are no moderators.\n"],
  [
    "webhooks",
    ["replay", "--since", "2026-11-20T00:00:00Z"],
    0,
    "No delivery has failed since 2026-11-20T00:00:00Z.\n",
  ],
  // The processor of these settings does not answer, so the audit is not complete.
  ["audit", [], 2, expect.stringContaining("ok  every movement sums to zero")],
])("npm run %s -- %j needs nothing but the settings", async (name, words, code, stdout) => {
  expect(await runScript(name, words, settings(), nodeOptions)).toEqual({ code, stdout, stderr: "" });
});

test("npm run listen needs nothing but the settings", async () => {
  const env = { PATH: process.env.PATH, NO_COLOR: "1", ...settings() };
  const listen = spawn(process.execPath, [...nodeOptions, "server/commands/listen.ts"], { env });
  const ended = once(listen, "exit");
  const [line] = await once(createInterface({ input: listen.stdout }), "line");
  expect(line).toBe("Listening to https://rebid.test for all events. Press Ctrl-C to stop.");
  listen.kill("SIGINT");
  expect(await ended).toEqual([0, null]);
});
