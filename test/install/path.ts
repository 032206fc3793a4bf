/**
 * `node test/install/path.ts ARCHIVE FOLDER`, in namespaces of its own: follows docs/guides/production.md on an empty server, with
 * the archive of a release, and an empty folder to mount the server in. Runs the page's blocks in their order, in one shell, with
 * stand-ins for what is outside the server. Exits with 1 when a block fails, or a request does while processes are restarted.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startMailbox } from "../../server/local/mailbox/start.ts";
import { startObjectStore } from "../../server/local/objectStore/start.ts";
import { startProcessor } from "../../server/local/processor/start.ts";
import { blocksIn } from "../docs/blocks.ts";
import { machineEnvironment, run } from "./processes.ts";
import { openServer } from "./server.ts";

const DOMAIN = "rebid.localhost";
const NEXT = "rebid-next";
/** Comes with the next release. */
const MIGRATION = "99991231000000_next";

const [archive = "", folder = ""] = process.argv.slice(2);
const release = basename(archive, ".tar.gz");
type Server = Awaited<ReturnType<typeof openServer>>;

await main();
process.exit();

async function main(): Promise<void> {
  const startedAt = performance.now();
  const server = await openServer(folder, DOMAIN);
  const home = join(server.root, "root");
  await cp(archive, join(home, `${release}.tar.gz`));
  await makeNextRelease(join(folder, "next"), home);
  const { values, stop } = await startOutside(join(folder, "outside"));
  const page = await readFile(join(import.meta.dirname, "../../docs/guides/production.md"), "utf8");
  const blocks = blocksIn(page).filter(({ info }) => info === "server");
  const codes = blocks.map(({ code }) => fillIn(code, values));

  const { code, output, failures } = await runBlocks(server, codes);
  const logs = ["api", "api2", "worker"].map((name) => server.units.log(`rebid@${name}`));
  if (code !== 0) console.log(output, ...logs);
  assert.equal(code, 0, "every block of docs/guides/production.md works");
  assert.deepEqual(failures, [], "no request is lost while processes are restarted");
  assert.match(output, /"availableCents":3000,"heldCents":0/, "Bo has been paid");
  assert.match(output, new RegExp(`${MIGRATION} of a newer release`), "the doctor names what is newer");
  for (const log of logs) assert.match(log, /schema is that of a newer release/);
  await server.units.stop();
  await stop();
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  console.log(`"Run it in production": ${blocks.length} blocks, to a paid task, an upgrade and back, in ${seconds} s`);
}

/** The same release under another name, with a migration more. */
async function makeNextRelease(unpacked: string, home: string): Promise<void> {
  await mkdir(unpacked);
  const where = { cwd: unpacked, env: machineEnvironment() };
  await run("tar", ["--extract", "--file", archive], where);
  const migration = join(unpacked, release, "prisma/migrations", MIGRATION);
  await mkdir(migration);
  await writeFile(join(migration, "migration.sql"), "ALTER TABLE tasks ADD COLUMN next text;\n");
  const parameters = ["--file", join(home, `${NEXT}.tar.gz`), `--transform=s,^${release},${NEXT},`];
  await run("tar", ["--create", "--gzip", ...parameters, release], where);
}

/** Starts what is outside the server; `values` has what a reader puts into the page. */
async function startOutside(outside: string) {
  const keys = { accessKeyId: random(), secretAccessKey: random() };
  const store = await startObjectStore({
    directory: join(outside, "s3"),
    bucket: "rebid",
    region: "us-east-1",
    ...keys,
  });
  const mailbox = await startMailbox({ directory: join(outside, "mail") });
  const [secretKey, webhookSecret] = [`sk_test_${random()}`, `whsec_${random()}`];
  const eventsUrl = `https://${DOMAIN}/processor/events`;
  const processor = await startProcessor({ directory: join(outside, "stripe"), secretKey, webhookSecret, eventsUrl });
  return {
    values: {
      "release=rebid-1.0.0": `release=${release}`,
      "next=rebid-1.1.0": `next=${NEXT}`,
      "rebid.example.com": DOMAIN,
      "https://s3.example.com": store.url,
      "S3_ACCESS_KEY_ID=…": `S3_ACCESS_KEY_ID=${keys.accessKeyId}`,
      "S3_SECRET_ACCESS_KEY=…": `S3_SECRET_ACCESS_KEY=${keys.secretAccessKey}`,
      "STRIPE_SECRET_KEY=sk_test_…": `STRIPE_SECRET_KEY=${secretKey}\nSTRIPE_API_BASE=${processor.url}`,
      "whsec_…,whsec_…,whsec_…": `whsec_${random()},whsec_${random()},${webhookSecret}`,
      "smtps://user:password@smtp.example.com": mailbox.smtpUrl,
    },
    async stop() {
      for (const each of [processor, mailbox, store]) await each.stop();
    },
  };
}

function random(): string {
  return randomBytes(32).toString("hex");
}

function fillIn(code: string, values: Record<string, string>): string {
  const filled = Object.entries(values).reduce((text, [written, own]) => text.replaceAll(written, own), code);
  assert.doesNotMatch(filled, /…/, "a value that nobody puts in");
  return filled;
}

/** Runs the blocks in one shell on the server. Somebody asks all the time while processes are restarted. */
async function runBlocks({ root, environment }: Server, codes: readonly string[]) {
  const script = codes.map((code, index) => {
    // The buyer opens the page in a browser and pays.
    const pays = 'curl -sS --fail -o /dev/null -d outcome=pays "$checkout/pay"';
    return [`echo "=== block ${index} ==="`, code, code.includes('echo "$checkout"') ? pays : "", ""].join("\n");
  });
  const cache = (await run("npm", ["config", "get", "cache"], { cwd: "/", env: machineEnvironment() })).trim();
  const child = spawn("chroot", [root, "bash", "-euo", "pipefail", "-c", script.join("")], {
    // The packages are in npm's cache: this server reaches no other machine.
    env: { ...environment, npm_config_offline: "true", npm_config_cache: cache },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const upgrade = codes.findIndex((code) => code.includes(`next=${NEXT}`));
  const traffic = new AbortController();
  let failures: Promise<string[]> | null = null;
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      if (output.includes(`=== block ${upgrade} ===`)) failures ??= askUntil(traffic.signal);
    });
  const [code] = await once(child, "close");
  traffic.abort();
  return { code, output, failures: (await failures) ?? ["the upgrade was not reached"] };
}

/** Asks through the proxy again and again, for what is not limited; returns every answer that is not 200. */
async function askUntil(signal: AbortSignal): Promise<string[]> {
  const failures: string[] = [];
  while (!signal.aborted) {
    const response = await fetch(`https://${DOMAIN}/livez`).catch(String);
    if (typeof response === "string") failures.push(response);
    else if (response.status !== 200) failures.push(`${response.status} ${await response.text()}`);
    else await response.arrayBuffer();
    await sleep(50);
  }
  return failures;
}
