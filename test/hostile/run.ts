/**
 * `npm run hostile`: sends generated requests to the service, over all operations and both transports, and as raw bytes.
 * Exits with 1 when a response is a 5xx or not as documented, when a refused request changed anything, or when an operation
 * never succeeded or was never refused: a run of 20,000 requests or more must reach what is behind validation everywhere.
 *
 *   --requests N   how many (default: 100,000)
 *   --seed N       repeats the requests of an earlier run
 */
import { randomInt } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { applyMigrations } from "../../prisma/migrate.ts";
import { startPostgres } from "../../server/local/postgres/start.ts";
import type { Contract } from "./document.ts";
import { type Figures, run } from "./engine.ts";
import { HeldSockets } from "./heldSockets.ts";
import { prepare } from "./service.ts";

/** From this many requests on, each operation is expected to have succeeded. */
const COMPLETE_RUN = 20_000;

/** They need a right password, token or code, or an account without money: none comes about by chance. */
const seldomSucceed = [
  "changePassword",
  "close",
  "confirmTotp",
  "removeTotp",
  "resetPassword",
  "startTotp",
  "verifyEmail",
].map((name) => `auth.${name}`);

const { values } = parseArgs({
  options: {
    requests: { type: "string", default: "100000" },
    seed: { type: "string", default: String(randomInt(1_000_000)) },
  },
});
const requests = Number(values.requests);
const seed = Number(values.seed);

const directory = await mkdtemp(join(tmpdir(), "rebid-hostile-"));
const postgres = await startPostgres({ directory: join(directory, "postgres"), durable: false });
try {
  process.exitCode = (await main()) ? 0 : 1;
} finally {
  await postgres.stop();
  await rm(directory, { recursive: true, force: true });
}

async function main(): Promise<boolean> {
  const databaseUrl = postgres.url;
  await applyMigrations(databaseUrl);
  const stage = await prepare(databaseUrl, databaseUrl, join(directory, "data"));
  console.log(`${requests.toLocaleString("en")} requests with the seed ${seed} to ${stage.service.url}`);
  const began = performance.now();
  let printedMs = began;
  const held = new HeldSockets(stage.port);
  try {
    const figures = await run({
      ...stage,
      requests,
      seed,
      onProgress: (soFar) => {
        if (performance.now() - printedMs < 10_000) return;
        printedMs = performance.now();
        console.log(progress(soFar, (printedMs - began) / 1000));
      },
    });
    console.log(progress(figures, (performance.now() - began) / 1000));
    report(figures);
    const { log } = stage.service;
    if (log.length > 0) console.log(`\nlogged as errors:\n${log.join("").slice(0, 5_000)}`);
    const missed = requests < COMPLETE_RUN ? [] : findMissed(figures, stage.contract.operations);
    for (const what of missed) console.log(`\n${what}`);
    const heldFaults = held.findFaults(stage.contract);
    for (const { what, detail } of heldFaults) console.log(`\n${what}\n  ${detail}`);
    return figures.findings.size + missed.length + heldFaults.length + log.length === 0;
  } finally {
    held.close();
    await stage.stop();
  }
}

/** The operations that no request reached on one of its two ends. */
function findMissed(figures: Figures, operations: Contract["operations"]): string[] {
  return operations.flatMap(({ route: { procedurePath } }) => {
    const { succeeded = 0, refused = 0 } = figures.operations.get(procedurePath) ?? {};
    if ((succeeded > 0 || seldomSucceed.includes(procedurePath)) && refused > 0) return [];
    return [`${procedurePath}: ${succeeded} requests succeeded, ${refused} were refused; both are expected`];
  });
}

function progress({ requests: sent, findings }: Figures, seconds: number): string {
  const rate = Math.round(sent / seconds).toLocaleString("en");
  return `${sent.toLocaleString("en")} requests in ${seconds.toFixed(0)} s, ${rate} a second, ${findings.size} kinds of faults`;
}

function report({ statuses, operations, findings }: Figures): void {
  console.log(
    "\nstatuses:",
    Object.entries(statuses)
      .map(([status, count]) => `${status}: ${count}`)
      .join(", "),
  );
  for (const [name, { succeeded, refused }] of [...operations].sort()) {
    console.log(`${name.padEnd(24)} ${String(succeeded).padStart(8)} succeeded ${String(refused).padStart(8)} refused`);
  }
  for (const { what, detail, count, reproduction } of findings.values()) {
    console.log(`\n${what} (${count} times)\n  ${detail}\n  ${reproduction}`);
  }
}
