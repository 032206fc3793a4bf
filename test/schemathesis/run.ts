/**
 * `npm run check:schemathesis`: Schemathesis, which nobody here wrote, sends what the API document allows and what it forbids to
 * a running service, follows the document's links, and judges the answers by the document. Takes at most three minutes. Needs
 * python3 with venv, and PyPI.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { access, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Rebid } from "@rebid/sdk";
import getPort from "get-port";
import { run, startProcess } from "../install/processes.ts";

/** For all phases together. A phase that has begun ends, and the rest of three minutes is for that and for the start. */
const MAX_SECONDS = "100";
const VERSION = "4.32.5";

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
const settings = { DATA_DIR: directory, PORT: port, LOG_LEVEL: "error", RATE_LIMITS: "off" };
const service = startProcess("npm", ["start"], { cwd: checkout, env: { ...process.env, ...settings } });
try {
  await service.ready;
  const url = `http://localhost:${port}`;
  const env = { ...process.env, REBID_API_KEY: await signUp(url) };
  const parameters = [
    ...["--config-file", join(import.meta.dirname, "schemathesis.toml"), "run", `${url}/openapi.json`],
    ...["--max-time", MAX_SECONDS, "--warnings", "off"],
  ];
  const tests = spawn(program, parameters, { cwd: directory, env, stdio: "inherit" });
  const [code] = await once(tests, "exit");
  if (code !== 0) process.exitCode = 1;
} finally {
  await service.stop();
  await rm(directory, { recursive: true, force: true });
}

/** Signs up a person with money, and returns an API key with every scope but that of payouts. */
async function signUp(url: string): Promise<string> {
  const visitor = new Rebid({ baseUrl: url, apiKey: null });
  const person = { email: "ada@rebid.test", password: "a long password", displayName: "Ada" };
  const { headers } = await visitor.auth.signup(person).withResponse();
  const [cookie = ""] = (headers.get("set-cookie") ?? "").split(";");
  const ada = new Rebid({ baseUrl: url, apiKey: null, headers: { cookie } });
  const { checkoutUrl } = await ada.wallet.topup({ amountCents: 100_000 });
  await fetch(`${checkoutUrl}/pay`, { method: "POST", body: new URLSearchParams({ outcome: "pays" }) });
  const { raw } = await ada.keys.create({
    label: "Schemathesis",
    scopes: ["task:write", "bid:write", "webhook:read", "webhook:write", "message:write", "agreement:write"],
  });
  return raw;
}
