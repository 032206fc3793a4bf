/**
 * `npm run check:install`: packs a release of the tracked files, installs it for production, with the machine's own Node and npm,
 * removes `server/local`, and starts the service against the embedded services of another process. Then it follows
 * docs/guides/production.md on an empty server. Exits with 1 when a step fails or an installation exceeds its size limit.
 */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import getPort from "get-port";
import { readManifest } from "../../openapi/release/versions.ts";
import { checkAnswers } from "./answers.ts";
import { productionSettings, startEmbedded } from "./embedded.ts";
import { machineEnvironment, megabytesIn, run, type Started, startProcess } from "./processes.ts";

/** Limits of `node_modules`, with the runtime, in units of 1,000,000 bytes on disk. */
const PRODUCTION_LIMIT_MB = 470;
const DEVELOPMENT_LIMIT_MB = 820;

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
  const archive = await pack();
  const { seconds: installSeconds } = await install(archive, installation);
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
  await followPath(archive);
}

/** Packs a release, with the sites, which an installation for production cannot build; returns the path of its archive. */
async function pack(): Promise<string> {
  await run("npm", ["run", "release", "--", "--pack"], { cwd: checkout, env: machineEnvironment() });
  const { version } = await readManifest(checkout);
  return join(checkout, `.build/release/rebid-${version}.tar.gz`);
}

/** In namespaces of its own, which only root may make: nothing of the machine is changed, and nothing goes on afterwards. */
async function followPath(archive: string): Promise<void> {
  const namespaces = ["--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"];
  if (process.platform !== "linux" || process.getuid?.() !== 0)
    return console.log("skipped, because it needs root and Linux: docs/guides/production.md on an empty server");
  const server = join(directory, "server");
  await mkdir(server);
  const parameters = [...namespaces, process.execPath, join(import.meta.dirname, "path.ts"), archive, server];
  console.log((await run("unshare", parameters, { cwd: checkout, env: machineEnvironment() })).trim());
}

/** Installs a release for production; `server/local` is removed from it afterwards. */
async function install(archive: string, installation: string): Promise<{ seconds: number }> {
  await mkdir(installation);
  const where = { cwd: installation, env: machineEnvironment() };
  await run("tar", ["--extract", "--file", archive, "--strip-components=1"], where);
  const startedAt = performance.now();
  await run("npm", ["ci", "--omit=dev", "--no-audit", "--no-fund"], where);
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  await rm(join(installation, "server/local"), { recursive: true });
  return { seconds };
}
