import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import * as choices from "../../server/local/processor/model/choices.ts";

const run = promisify(execFile);

/** The commands of the section on the first paid task, as they stand. */
async function firstTaskCommands(): Promise<string> {
  const readme = await readFile("README.md", "utf8");
  const section = readme.slice(readme.indexOf("<!-- first-task"), readme.indexOf("<!-- /first-task -->"));
  return Array.from(section.matchAll(/```sh\n([\s\S]*?)```/g), ([, commands]) => commands).join("\n");
}

test("the README's first task works as it is written, and pays the bidder", { timeout: 120_000 }, async () => {
  const directory = await mkdtemp(join(tmpdir(), "rebid-readme-"));
  const service = spawn(process.execPath, ["server/start/main.ts"], {
    env: { ...process.env, DATA_DIR: directory, PORT: "0", LOG_LEVEL: "error" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(service, "exit");
  try {
    const [line] = await once(createInterface({ input: service.stdout }), "line");
    const url = /^Rebid is ready: (.+)$/.exec(String(line))?.[1] ?? "";
    const commands = (await firstTaskCommands()).replace("http://localhost:3000", url);
    const { stdout } = await run("bash", ["-euo", "pipefail", "-c", commands]);
    expect(stdout).toContain('{"availableCents":5000,"heldCents":0}');
    expect(stdout).toContain('"status":"accepted"');
    expect(stdout).toContain('{"availableCents":3000,"heldCents":0}');
    expect(stdout).toContain('"kind":"task_payment"');
  } finally {
    service.kill("SIGTERM");
    expect(await ended).toEqual([0, null]);
    await rm(directory, { recursive: true, force: true });
  }
});

test("the README lists everything that can be chosen of the embedded payment processor", async () => {
  const readme = await readFile("README.md", "utf8");
  const { checkoutOutcomes, onboardingOutcomes, bankAccounts, payoutAmounts, callFaults, eventFaults } = choices;
  const tables = [checkoutOutcomes, onboardingOutcomes, bankAccounts, payoutAmounts, callFaults, eventFaults];
  const missing = tables.flat().filter(({ description }) => !readme.includes(`| ${description} |`));
  expect(missing).toEqual([]);
});
