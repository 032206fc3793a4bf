/**
 * A verifier: it runs what is delivered for your tasks, compares what it prints with what you expect, and reports that as the
 * check that the task agreed on. Needs a key with `check:write`, which the check names: `{ "kind": "external", "keyId": … }`.
 *
 *     REBID_URL=http://localhost:3000 REBID_API_KEY=rb_live_… node --conditions=@rebid/source client-sdk/examples/verifier.ts
 */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ConflictError, ForbiddenError, Rebid, type ReportCheck } from "@rebid/sdk";

const { REBID_URL = "http://localhost:3000", REBID_API_KEY, CHECK = "Tests" } = process.env;
const rebid = new Rebid({ baseUrl: REBID_URL, apiKey: REBID_API_KEY });

/** What a program must print for each input. */
const cases = [
  { input: "2 3", expected: "5" },
  { input: "-7 7", expected: "0" },
  { input: "0.5 0.25", expected: "0.75" },
];
const LIMITS = { timeout: 5_000, maxBuffer: 64_000, killSignal: "SIGKILL" } as const;
const MAX_BYTES = 1_000_000;

/**
 * Runs a delivered program in a process of its own, with a time limit, no secrets, and no right to anything but to read itself. What
 * strangers deliver deserves more: run all of this in a container without a network.
 */
function run(file: string, input: string): Promise<{ failure: string | null; output: string }> {
  return new Promise((resolve) => {
    const parameters = ["--permission", `--allow-fs-read=${file}`, "--max-old-space-size=128", file];
    const child = execFile(process.execPath, parameters, { ...LIMITS, env: {} }, (error, stdout) => {
      const failure = error === null ? null : error.killed ? "took more than 5 seconds" : "ended with an error";
      resolve({ failure, output: stdout.trim() });
    });
    child.stdin?.on("error", () => undefined); // it may end without having read anything
    child.stdin?.end(`${input}\n`);
  });
}

type Verdict = Pick<ReportCheck, "conclusion" | "summary">;

async function judge({ bytes, downloadUrl }: { bytes: number; downloadUrl: string }): Promise<Verdict> {
  if (bytes > MAX_BYTES) return { conclusion: "failed", summary: "The program has more than 1 MB." };
  const response = await fetch(downloadUrl);
  if (!response.ok) return { conclusion: "error", summary: `The download answered ${response.status}.` };
  const directory = await mkdtemp(join(tmpdir(), "rebid-verifier-"));
  try {
    const file = join(directory, "delivered.mjs");
    await writeFile(file, Buffer.from(await response.arrayBuffer()));
    for (const [index, { input, expected }] of cases.entries()) {
      const { failure, output } = await run(file, input);
      if (failure === null && output === expected) continue;
      const what = failure ?? `printed “${output.slice(0, 100)}” in place of “${expected}”`;
      return { conclusion: "failed", summary: `Test ${index + 1} of ${cases.length}: the program ${what}.` };
    }
    return { conclusion: "passed", summary: `${cases.length} of ${cases.length} tests pass.` };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Judges the delivery that counts, if our check is still to be reported. */
async function verify(taskId: string): Promise<void> {
  const { deliveries = [] } = await rebid.tasks.read({ id: taskId });
  const [delivery] = deliveries;
  const isOurs = delivery?.checks.some(({ name, conclusion }) => name === CHECK && conclusion === "pending");
  if (delivery === undefined || !isOurs) return;
  const verdict = await judge(delivery);
  try {
    await rebid.deliveries.report({ id: delivery.id, name: CHECK, ...verdict });
    console.log(`${verdict.conclusion}: ${verdict.summary}`);
  } catch (error) {
    // There is a later delivery, the task has moved, or its check names another key.
    if (!(error instanceof ConflictError || error instanceof ForbiddenError)) throw error;
    console.log(`not reported: ${error.message}`);
  }
}

// The log's position comes first, so that what is delivered meanwhile is not missed.
const { nextCursor } = await rebid.events.list({ after: "latest" });
console.log("waiting for deliveries");
for await (const { id } of rebid.tasks.listOwn({ role: "buyer", status: ["delivered"] })) await verify(id);
for await (const { data } of rebid.events.follow({ types: ["delivery.posted"], after: nextCursor }))
  await verify(data.task.id);
