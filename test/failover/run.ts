/**
 * `npm run check:failover`: the event log on clusters that fail over, and a whole installation on Patroni through a planned
 * switch and a crash. `-- all` runs every scenario.
 */
import { spawn } from "node:child_process";

const scenarios = process.argv[2] ?? "quick";
if (!["quick", "all"].includes(scenarios)) {
  console.error("npm run check:failover [-- all]");
  process.exit(2);
}
const vitest = spawn("vitest", ["run", "--config", "test/failover/vitest.config.ts"], {
  stdio: "inherit",
  env: { ...process.env, FAILOVER_SCENARIOS: scenarios },
});
vitest.once("exit", (code) => process.exit(code ?? 1));
