/**
 * `npm run check:failover`: the event log and the public reads on clusters that fail over, and a whole installation on
 * Patroni through a planned switch and a crash. `-- all` runs every scenario.
 *
 * It watches over what it starts: whatever ends it, nothing is left; and what a run left that was killed itself is removed
 * by the next one.
 */
import { spawn } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { constants } from "node:os";
import "../vitest.config.ts"; // It chooses where temporary files are.
import { directoryOf, findDeadRuns, removeRun } from "./leftovers.ts";
import { Network } from "./network.ts";

const WITHOUT_PATRONI = ["eventLog", "publicReads"];

const scenarios = process.argv[2] ?? "quick";
if (!["quick", "all"].includes(scenarios)) {
  console.error("npm run check:failover [-- all]");
  process.exit(2);
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.once(signal, async () => {
    await removeRun(process.pid);
    process.exit(128 + constants.signals[signal]);
  });
}

for (const run of await findDeadRuns()) {
  console.log(`Removing what the run of process ${run} left`);
  await removeRun(run);
}
try {
  process.exitCode = await runChecks();
} finally {
  await removeRun(process.pid);
}

/** Returns the exit code. */
async function runChecks(): Promise<number> {
  const directory = directoryOf(process.pid);
  // The servers of a cluster run as another user.
  await mkdir(directory, { mode: 0o755 });
  const obstacle = await Network.obstacle();
  const tellSkipped = () => {
    if (obstacle === null) return;
    const line = "!".repeat(100);
    console.error(`\n${line}\nSKIPPED: every scenario with Patroni, because no network namespaces can be made here:`);
    console.error(`${obstacle}\n${line}\n`);
  };
  tellSkipped();
  const checks = obstacle === null ? [] : WITHOUT_PATRONI;
  const vitest = spawn("vitest", ["run", "--config", "test/failover/vitest.config.ts", ...checks], {
    stdio: "inherit",
    env: { ...process.env, TMPDIR: directory, FAILOVER_RUN: String(process.pid), FAILOVER_SCENARIOS: scenarios },
  });
  const code = await new Promise<number>((resolve, reject) => {
    vitest.once("error", reject).once("exit", (code) => resolve(code ?? 1));
  });
  tellSkipped();
  return code;
}
