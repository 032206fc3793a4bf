import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startPostgres } from "../../server/local/postgres/start.ts";
import type { Bench } from "./setup/bench.ts";
import { databasesOf } from "./setup/databases.ts";
import { hasPassed, judge, printTable, type Result, readCommitted, writeResults } from "./setup/report.ts";

const usage = (always: string[], byName: string[]) => `npm run bench [-- [NAME …] [--json FILE]]

Without names: ${always.join(", ")}. It takes some ten minutes on two cores, and
writes test/bench/results.json: commit it, because the next run is compared with the last commit's.
Only by name: ${byName.join(", ")}.
--json FILE writes the results of any run. Exits with 1 when a ratio is outside its limit or worse than before.`;

/** Finds the benches in this folder, and those that run only by name. */
async function findBenches(): Promise<{ always: string[]; byName: string[] }> {
  const namesIn = async (folder: string) =>
    (await readdir(join(import.meta.dirname, folder)))
      .filter((file) => file.endsWith(".ts") && file !== "run.ts")
      .map((file) => file.slice(0, -".ts".length))
      .sort();
  return { always: await namesIn("."), byName: await namesIn("byName") };
}

async function main(): Promise<boolean> {
  const { positionals: names, values: options } = parseArgs({
    allowPositionals: true,
    options: { json: { type: "string" }, help: { type: "boolean" } },
  });
  const { always, byName } = await findBenches();
  const unknown = names.filter((name) => !always.includes(name) && !byName.includes(name));
  if (unknown.length > 0) console.error(`Unknown bench: ${unknown.join(", ")}.\n`);
  if (options.help || unknown.length > 0) {
    console.log(usage(always, byName));
    return unknown.length === 0;
  }

  const directory = await mkdtemp(join(tmpdir(), "rebid-bench-"));
  // Without fsync: waiting for the disk takes the same time on all sides and would hide what the service costs.
  const postgres = await startPostgres({ directory, durable: false });
  try {
    const committed = await readCommitted();
    const results: Result[] = [];
    for (const name of names.length > 0 ? names : always) {
      console.log(`\n${name}`);
      const path = always.includes(name) ? `./${name}.ts` : `./byName/${name}.ts`;
      const { default: bench }: { default: Bench } = await import(path);
      results.push(...judge(name, await runBench(name, bench, postgres.url, directory), committed));
    }
    console.log("");
    printTable(results);
    if (names.length === 0) await writeResults(results);
    if (options.json !== undefined) await writeResults(results, options.json);
    return results.every(hasPassed);
  } finally {
    await postgres.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

async function runBench(name: string, bench: Bench, postgresUrl: string, parent: string) {
  const databases = databasesOf(postgresUrl);
  const undos: (() => Promise<void>)[] = [];
  const startedMs = performance.now();
  const log = (line: string) => console.log(`  ${((performance.now() - startedMs) / 1000).toFixed(0)} s: ${line}`);
  try {
    return await bench({
      databaseUrl: await databases.migrated(`bench_${name.toLowerCase()}`),
      databases,
      directory: await mkdtemp(join(parent, `${name}-`)),
      log,
      onEnd: (undo) => void undos.push(undo),
    });
  } finally {
    for (const undo of undos.toReversed()) await undo();
    log("done");
  }
}

// So that the servers, which stop when this process exits, do not outlive it.
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

process.exitCode = (await main()) ? 0 : 1;
