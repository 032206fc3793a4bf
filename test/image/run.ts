/**
 * `npm run check:image`: builds `deploy/Containerfile` from the tracked files, on a base that debootstrap makes, and runs it as
 * an engine would, with a root file system that cannot be written: the migration, an api and a worker, their health checks
 * and the operator's commands. It runs as root and needs buildah, debootstrap and npm 10.8. Exits with 1 when a step fails
 * or the image exceeds its size limit. `--keep-image` skips the build if there is an image.
 */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import getPort from "get-port";
import { copyTrackedFiles } from "../../openapi/release/copies.ts";
import { checkAnswers } from "../install/answers.ts";
import { productionSettings, startEmbedded } from "../install/embedded.ts";
import { megabytesIn, type Started } from "../install/processes.ts";
import { Machine, runIn, startIn } from "./machine.ts";

/** What the image may have beyond its base, in units of 1,000,000 bytes on disk. */
const LIMIT_MB = 330;
const [IMAGE, BASE, BUILD_BASE] = ["rebid", "rebid-base", "rebid-build-base"];

const checkout = join(import.meta.dirname, "../..");
const directory = await mkdtemp(join(tmpdir(), "rebid-image-"));
const machine = new Machine(join(checkout, ".build/image"));
const undos: (() => Promise<unknown>)[] = [];
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
  for (const undo of undos.splice(0).toReversed()) await undo();
  await rm(directory, { recursive: true, force: true });
}

async function main(): Promise<void> {
  const isKept = process.argv.includes("--keep-image");
  if (!isKept) await build();
  const container = await machine.open(IMAGE);
  undos.push(container.remove);
  await checkSize(container.root);
  const { User, Cmd, Entrypoint, Healthcheck } = container.config;
  assert.match(User, /^[1-9]\d*:[1-9]\d*$/, "the image runs as root");
  assert.deepEqual([Entrypoint ?? [], Cmd], [[], ["node", "server/start/main.ts"]], "the image runs one process");
  const [kind, ...health] = Healthcheck?.Test ?? [];
  assert.equal(kind, "CMD", "the image has no health check");

  const started: Started[] = [];
  undos.push(async () => {
    for (const each of started.toReversed()) await each.stop();
  });
  const { DATABASE_OWNER_URL, ...settings } = await productionSettings(
    await startEmbedded(join(directory, "data"), started),
  );
  const [PORT, METRICS_PORT, other] = [String(await getPort()), String(await getPort()), String(await getPort())];
  const api = { ...settings, ROLE: "api", PORT, METRICS_PORT: other, DRAIN_SECONDS: "0" };
  const worker = { ...settings, ROLE: "worker", METRICS_PORT, DRAIN_SECONDS: "0" };
  const command = (name: string, ...parameters: string[]) => ["node", `server/commands/${name}.ts`, ...parameters];

  await assert.rejects(runIn(container, {}, ["touch", "written"]), /Read-only file system/);
  await assert.rejects(runIn(container, api, health), "an image without a service is healthy");
  await runIn(container, { ...settings, DATABASE_OWNER_URL }, command("migrate"));
  const processes = [startIn(container, api), startIn(container, worker)];
  started.push(...processes);
  const seconds = await Promise.all(processes.map(({ ready }) => ready));
  await checkAnswers(`http://127.0.0.1:${PORT}`);
  for (const role of [api, worker]) await runIn(container, role, health);
  await runIn(container, settings, command("audit"));
  await runIn(container, settings, command("moderator", "list"));
  const findings = await runIn(container, settings, command("doctor")).catch(String);
  assert.match(findings, /^\d+ problems, /m, "npm run doctor does not run in the image");
  for (const each of processes) assert.equal(await each.stop(), 0, "the exit code after SIGTERM");
  console.log(`ready after ${seconds.join(" and ")} s, read-only, as ${User}`);
}

async function build(): Promise<void> {
  // Containers of a run that was killed.
  await machine.buildah("rm", "--all");
  await machine.makeBase(BASE);
  await machine.makeBuildBase(BASE, BUILD_BASE);
  const context = join(directory, "context");
  await mkdir(context);
  await copyTrackedFiles(checkout, context);
  const bases = ["--build-arg", `BASE=localhost/${BASE}`, "--build-arg", `BUILD_BASE=localhost/${BUILD_BASE}`];
  // Docker's format: the one of OCI has no health check.
  const options = ["--isolation", "chroot", "--format", "docker", "--pull=false", "--layers=false", "--force-rm"];
  const file = join(context, "deploy/Containerfile");
  await machine.buildah("build", ...options, ...bases, "--file", file, "--tag", IMAGE, context);
  // The image before this one, which no name leads to any more.
  await machine.buildah("rmi", "--prune");
}

/** Prints what takes the room, and compares it with the limit. */
async function checkSize(root: string): Promise<void> {
  const base = await machine.open(BASE);
  undos.push(base.remove);
  const beyond = (await megabytesIn(root)) - (await megabytesIn(base.root));
  const folders = [".build", "server", "prisma", "node_modules"].map((name) => join("rebid", name));
  const entries = await readdir(join(root, "rebid/node_modules"), { withFileTypes: true });
  const packages = entries.flatMap((entry) => (entry.isDirectory() ? [join("rebid/node_modules", entry.name)] : []));
  const sizes = await Promise.all(
    ["usr/local/bin", ...folders, ...packages].map(async (name) => ({
      name,
      megabytes: await megabytesIn(join(root, name)),
    })),
  );
  console.log(`${beyond} MB beyond the base (limit ${LIMIT_MB})`);
  for (const { name, megabytes } of sizes.toSorted((a, b) => b.megabytes - a.megabytes))
    if (megabytes >= 2) console.log(`  ${String(megabytes).padStart(4)} MB  ${name}`);
  assert.ok(beyond <= LIMIT_MB, "the image is too large");
}
