/**
 * `npm run check`: the formatting, the lint rules and the types of everything, side by side. Prints what each part finds, and
 * exits with 1 when one of them finds something.
 */
import { spawn } from "node:child_process";
import { performance } from "node:perf_hooks";
import { text } from "node:stream/consumers";

const isTerminal = process.stdout.isTTY === true; // else undefined
// The parts share the cores. Several checkers in one of them would each infer the router's types anew: twice the time of the
// processor for `tsc`, and no answer sooner.
const types = ["--checkers", "1", "--pretty", String(isTerminal)];
const parts = [
  ["tsc", ...types],
  ["tsc", "-p", "console", ...types],
  ["tsc", "-p", "docs", ...types],
  ["biome", "check", ".", `--colors=${isTerminal ? "force" : "off"}`],
] as const;

async function check([command, ...parameters]: (typeof parts)[number]): Promise<void> {
  const startedAt = performance.now();
  const child = spawn(command, parameters, { stdio: ["ignore", "pipe", "pipe"] });
  const code = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  const [exitCode, ...output] = await Promise.all([code, text(child.stdout), text(child.stderr)]);
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  process.stdout.write(`${command} ${parameters.join(" ")}: ${exitCode === 0 ? "ok" : "failed"} (${seconds} s)\n`);
  if (exitCode === 0) return;
  process.stdout.write(output.join(""));
  process.exitCode = 1;
}

await Promise.all(parts.map(check));
