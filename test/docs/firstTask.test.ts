import { execFile } from "node:child_process";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as choices from "../../server/local/processor/model/choices.ts";
import { useProcesses } from "../setup/serviceProcess.ts";

const { start, dataDirectory } = useProcesses();

describe("the first task", () => {
  let directory = "";
  let commands = "";

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "rebid-first-task-"));
    const guide = await readFile("docs/guides/first-task.md", "utf8");
    // All but the one that starts the service, which has `not-run`.
    const blocks = Array.from(guide.matchAll(/```sh\n([\s\S]*?)\n```/g), ([, block]) => block);
    // A person who sees a block fail does not paste the next one.
    commands = blocks.map((block) => `${block} || exit 1\n`).join("");
  });
  afterAll(() => rm(directory, { recursive: true, force: true }));

  /** Runs a script as the reader's shell would; temporary directories are made inside of this test's own. */
  function shell(script: string, variables: Record<string, string> = {}) {
    const env = { ...process.env, TMPDIR: directory, ...variables };
    return new Promise<{ code: number; stdout: string; stderr: string }>((done) => {
      execFile("bash", ["-c", script], { cwd: directory, env }, (error, stdout, stderr) => {
        done({ code: error === null ? 0 : typeof error.code === "number" ? error.code : -1, stdout, stderr });
      });
    });
  }

  test("works as it is written, twice in the same shell, up to the payout", async () => {
    const service = await start({ DATA_DIR: await dataDirectory(), SPAM_GUARD: "on" });
    await service.ready();
    const oneRun = commands.replace("http://localhost:3000", service.url.replace("127.0.0.1", "localhost"));
    const { code, stdout, stderr } = await shell(`${oneRun}\necho SECOND RUN\n${oneRun}`);
    expect([code, stderr]).toEqual([0, ""]);
    const runs = stdout.split("SECOND RUN");
    expect(runs).toHaveLength(2);
    for (const run of runs) {
      expect(run).toContain('{"availableCents":5000,"heldCents":0}');
      expect(run).toContain("# Lounas\n\nLohikeitto\n");
      expect(run).toContain('"status":"accepted"');
      expect(run).toContain('{"availableCents":3000,"heldCents":0}');
      expect(run).toContain('"kind":"task_payment"');
      expect(run.match(/"stars":5/g)).toHaveLength(2);
      expect(run).toContain('"amountCents":3000,"status":"paid"');
    }
    expect((await service.stop()).code).toBe(0);
  });

  test("stops at the first request that fails, whichever it is, and shows its answer", async () => {
    // Stands in for curl: answers with every field that some step reads, and refuses the request with the number REFUSED.
    const answer = JSON.stringify({
      ...{ raw: "key", task: { id: "task" }, bid: { id: "bid" }, deliveries: [{ downloadUrl: "file" }] },
      ...{
        checkoutUrl: "page",
        url: "page",
        uploadUrl: "file",
        storageKey: "key",
        status: "paid",
        availableCents: 5000,
      },
    });
    const curl = join(directory, "curl");
    await writeFile(
      curl,
      `#!/bin/bash
echo >> "$LOG"
[ "$(wc -l < "$LOG")" -eq "$REFUSED" ] && echo '{"error":"refused on purpose"}' && exit 22
echo '${answer}'`,
    );
    await chmod(curl, 0o755);
    const run = async (refused: number) => {
      const LOG = join(directory, `requests-${refused}`);
      const PATH = `${directory}:${process.env.PATH}`;
      // What waits for a state would wait on after one refused request; here it does not.
      const script = commands.replace("seq 30", "seq 1");
      const result = await shell(script, { LOG, PATH, REFUSED: String(refused) });
      return { ...result, requests: (await readFile(LOG, "utf8")).length };
    };
    const all = await run(0);
    expect([all.code, all.stderr]).toEqual([0, ""]);
    expect(all.requests).toBeGreaterThan(15);
    for (let refused = 1; refused <= all.requests; refused++) {
      const { code, requests, stdout, stderr } = await run(refused);
      expect([refused, code === 0, requests]).toEqual([refused, false, refused]);
      expect(stdout + stderr).toContain("refused on purpose");
    }
  });
});

test("Try everything lists every choice that the embedded payment processor offers", async () => {
  const guide = await readFile("docs/guides/testing.md", "utf8");
  const { checkoutOutcomes, onboardingOutcomes, bankAccounts, payoutAmounts, callFaults, eventFaults } = choices;
  const tables = [checkoutOutcomes, onboardingOutcomes, bankAccounts, payoutAmounts, callFaults, eventFaults];
  const missing = tables.flat().filter(({ description }) => !guide.includes(`| ${description} |`));
  expect(missing).toEqual([]);
});
