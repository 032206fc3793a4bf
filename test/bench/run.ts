import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { startPostgres } from "../../server/local/postgres/start.ts";
import { migrateDatabase } from "../../server/store/schema.ts";
import type { Bench, Measurement } from "./setup/bench.ts";

/** `npm run bench [name …]`: prints ratios, and exits with 1 when one is outside its limits. */
async function main(names: string[]): Promise<boolean> {
  const known = (await readdir(import.meta.dirname))
    .filter((file) => file.endsWith(".ts") && file !== "run.ts")
    .map((file) => file.slice(0, -".ts".length))
    .sort();
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) throw new Error(`Unknown bench: ${unknown.join(", ")}. Known: ${known.join(", ")}.`);

  const directory = await mkdtemp(join(tmpdir(), "rebid-bench-"));
  // Without fsync: waiting for the disk takes the same time on both sides and would hide what the service costs.
  const postgres = await startPostgres({ directory, durable: false });
  try {
    let passed = true;
    for (const name of names.length > 0 ? names : known) {
      console.log(`\n${name}`);
      for (const measurement of await runBench(name, postgres.url, directory)) {
        passed = report(measurement) && passed;
      }
    }
    return passed;
  } finally {
    await postgres.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

async function runBench(name: string, postgresUrl: string, parent: string): Promise<Measurement[]> {
  const { default: bench }: { default: Bench } = await import(`./${name}.ts`);
  const undos: (() => Promise<void>)[] = [];
  try {
    return await bench({
      databaseUrl: await createDatabase(postgresUrl, `bench_${name}`),
      directory: await mkdtemp(join(parent, `${name}-`)),
      log: (line) => console.log(`  ${line}`),
      onEnd: (undo) => void undos.push(undo),
    });
  } finally {
    for (const undo of undos.toReversed()) await undo();
  }
}

async function createDatabase(postgresUrl: string, name: string): Promise<string> {
  const admin = new pg.Client({ connectionString: postgresUrl });
  await admin.connect();
  await admin.query(`CREATE DATABASE ${name}`);
  await admin.end();
  const url = postgresUrl.replace(/\/rebid$/, `/${name}`);
  await migrateDatabase(url, url);
  return url;
}

/** Prints a measurement and returns whether its ratio is within its limits. */
function report({ what, unit, ours, baseline, against, atLeast, atMost }: Measurement): boolean {
  const ratio = ours / baseline;
  const passed = ratio >= (atLeast ?? 0) && ratio <= (atMost ?? Number.POSITIVE_INFINITY);
  const figure = (value: number) => value.toLocaleString("en", { maximumSignificantDigits: 4 });
  const bounds = [
    atLeast === undefined ? [] : [`at least ${atLeast.toFixed(2)}`],
    atMost === undefined ? [] : [`at most ${atMost.toFixed(2)}`],
  ].flat();
  const limit = bounds.length === 0 ? "" : `, ${bounds.join(", ")}: ${passed ? "ok" : "TOO SLOW"}`;
  console.log(
    `${what}\n    Rebid ${figure(ours)} ${unit}, ${against} ${figure(baseline)} ${unit}: ratio ${ratio.toFixed(2)}${limit}`,
  );
  return passed;
}

process.exitCode = (await main(process.argv.slice(2))) ? 0 : 1;
