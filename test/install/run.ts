/**
 * `npm run check:install`: installs the tracked files for production, with the machine's own Node and npm, removes
 * `server/local`, and starts the service against the embedded services of another process. Exits with 1 when a step
 * fails or an installation exceeds its size limit.
 */
import assert from "node:assert/strict";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import getPort from "get-port";
import { copyTrackedFiles } from "../../openapi/release/copies.ts";
import { checkAnswers } from "./answers.ts";
import { productionSettings, startEmbedded } from "./embedded.ts";
import { machineEnvironment, megabytesIn, run, type Started, startProcess } from "./processes.ts";

/** Limits of `node_modules`, with the runtime, in units of 1,000,000 bytes on disk. */
const PRODUCTION_LIMIT_MB = 450;
const DEVELOPMENT_LIMIT_MB = 800;

const checkout = join(import.meta.dirname, "../..");
const directory = await mkdtemp(join(tmpdir(), "rebid-install-"));
const started: Started[] = [];
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => cleanUp().finally(() => process.exit(1)));

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? (error.stack ?? error.message) : error);
  process.exitCode = 1;
} finally {
  await cleanUp();
}

async function cleanUp(): Promise<void> {
  for (const each of started.toReversed()) await each.stop();
  await rm(directory, { recursive: true, force: true });
}

async function main(): Promise<void> {
  const installation = join(directory, "rebid");
  const { seconds: installSeconds } = await install(installation);
  const megabytes = await megabytesIn(join(installation, "node_modules"));
  const developmentMegabytes = await megabytesIn(join(checkout, "node_modules"));

  const port = await getPort();
  const { DATABASE_OWNER_URL, ...settings } = await productionSettings(
    await startEmbedded(join(directory, "data"), started),
  );
  const env = { ...machineEnvironment(), ...settings, PORT: String(port) };
  await run("npm", ["run", "migrate"], { cwd: installation, env: { ...env, DATABASE_OWNER_URL } });
  const service = startProcess("npm", ["start"], { cwd: installation, env });
  started.push(service);
  const readySeconds = await service.ready;
  await checkAnswers(`http://127.0.0.1:${port}`);
  // Exit code 0: the ledger is right and was checked in full. Any other code rejects.
  await run("npm", ["run", "audit"], { cwd: installation, env });
  await run("npm", ["run", "moderator", "--", "list"], { cwd: installation, env });
  assert.equal(await service.stop(), 0, "the exit code of `npm start` after SIGTERM");

  const machine = (await run("node", ["--version"], { cwd: installation, env })).trim();
  const runtime = (await run("npm", ["exec", "--", "node", "--version"], { cwd: installation, env })).trim();
  console.log(
    `production install: ${megabytes} MB (limit ${PRODUCTION_LIMIT_MB}) in ${installSeconds} s by Node ${machine}, ` +
      `ready after ${readySeconds} s on Node ${runtime}; development install: ${developmentMegabytes} MB ` +
      `(limit ${DEVELOPMENT_LIMIT_MB})`,
  );
  assert.ok(megabytes <= PRODUCTION_LIMIT_MB, "the production install is too large");
  assert.ok(developmentMegabytes <= DEVELOPMENT_LIMIT_MB, "the development install is too large");
}

/** Installs a copy of the checkout's tracked files for production; `server/local` is removed from it afterwards. */
async function install(installation: string): Promise<{ seconds: number }> {
  await copyTrackedFiles(checkout, installation);
  // A release carries the sites, which an installation for production cannot build.
  await run("npm", ["run", "build"], { cwd: checkout, env: machineEnvironment() });
  await cp(join(checkout, ".build/docs"), join(installation, ".build/docs"), { recursive: true });
  const startedAt = performance.now();
  await run("npm", ["ci", "--omit=dev", "--no-audit", "--no-fund"], { cwd: installation, env: machineEnvironment() });
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  await rm(join(installation, "server/local"), { recursive: true });
  return { seconds };
}
