/**
 * `npm run check:schemathesis`: Schemathesis, which nobody here wrote, sends what the API document allows and what it forbids to
 * a running service, follows the document's links, and judges the answers by the document. Takes at most three minutes. Needs
 * python3 with venv, and PyPI. What it sends follows from a seed: `npm run check:schemathesis -- --seed 7` sends something else.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { access, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Rebid } from "@rebid/sdk";
import getPort from "get-port";
import { run, startProcess } from "../install/processes.ts";

/** How long each part may take. The links have a time of their own: they would get what the others leave. */
const parts = [
  ["--phases", "examples,coverage,fuzzing", "--max-time", "75"],
  ["--phases", "stateful", "--max-time", "45"],
];
const VERSION = "4.32.5";
const MAX_TOPUP_CENTS = 100_000;
const { seed } = parseArgs({ options: { seed: { type: "string", default: "1" } } }).values;

const checkout = join(import.meta.dirname, "../..");
const environment = join(checkout, `.build/schemathesis-${VERSION}`);
const program = join(environment, "bin/schemathesis");
const here = { cwd: checkout, env: process.env };

const isInstalled = await access(program).then(
  () => true,
  () => false,
);
if (!isInstalled) {
  await run("python3", ["-m", "venv", environment], here);
  await run(join(environment, "bin/pip"), ["install", "--quiet", `schemathesis==${VERSION}`], here);
}

const directory = await mkdtemp(join(tmpdir(), "rebid-schemathesis-"));
const port = String(await getPort());
// Otherwise, nearly every answer would be 429.
const settings = { DATA_DIR: directory, PORT: port, LOG_LEVEL: "error", RATE_LIMITS: "off", SPAM_GUARD: "off" };
const service = startProcess("npm", ["start"], { cwd: checkout, env: { ...process.env, ...settings } });
try {
  await service.ready;
  const url = `http://localhost:${port}`;
  const keys = { BUYER_KEY: await signUp(url, "Ada"), BIDDER_KEY: await signUp(url, "Bo") };
  const env = { ...process.env, ...keys, PYTHONPATH: import.meta.dirname, PYTHONDONTWRITEBYTECODE: "1" };
  for (const part of parts) {
    const parameters = [
      ...["--config-file", join(import.meta.dirname, "schemathesis.toml"), "run", `${url}/openapi.json`],
      ...[...part, "--seed", seed, "--warnings", "off"],
    ];
    const tests = spawn(program, parameters, { cwd: directory, env, stdio: "inherit" });
    const [code] = await once(tests, "exit");
    if (code !== 0) process.exitCode = 1;
  }
} finally {
  await service.stop();
  await rm(directory, { recursive: true, force: true });
}

/** Signs up a person with money, and returns an API key with every scope but that of payouts. */
async function signUp(url: string, displayName: string): Promise<string> {
  const visitor = new Rebid({ baseUrl: url, apiKey: null });
  const person = { email: `${displayName}@rebid.test`, password: "a long password", displayName };
  const { headers } = await visitor.auth.signup(person).withResponse();
  const [cookie = ""] = (headers.get("set-cookie") ?? "").split(";");
  const rebid = new Rebid({ baseUrl: url, apiKey: null, headers: { cookie } });
  for (let times = 0; times < 20; times++) {
    const { checkoutUrl } = await rebid.wallet.topup({ amountCents: MAX_TOPUP_CENTS });
    await fetch(`${checkoutUrl}/pay`, { method: "POST", body: new URLSearchParams({ outcome: "pays" }) });
  }
  const { raw } = await rebid.keys.create({
    label: "Schemathesis",
    scopes: ["task:write", "bid:write", "webhook:read", "webhook:write", "message:write", "agreement:write"],
  });
  return raw;
}
