/**
 * `npm run check:python`: the Python client, installed into an environment of its own under `.build`: its types for Python 3.10
 * to 3.13 by two checkers, its wheel and sdist, its tests against a running service and a proxy that misbehaves, and the Python of
 * the guides. Needs python3 with venv, and PyPI for what the tests need.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { access, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import getPort from "get-port";
import { run, startProcess } from "../install/processes.ts";
import { startHostileProxy } from "../sdk/behaviours/hostileProxy.ts";
import { runGuides } from "./guides.ts";

const checkout = join(import.meta.dirname, "../..");
const client = join(checkout, "client-sdk/python");
const environment = join(checkout, ".build/python");
const python = join(environment, "bin/python");
const requirements = join(import.meta.dirname, "requirements.txt");

/** Makes the environment, or leaves the one that has the same requirements. */
async function prepare(): Promise<void> {
  const wanted = await readFile(requirements, "utf8");
  const marker = join(environment, "requirements.txt");
  const has = await readFile(marker, "utf8").catch(() => undefined);
  if (
    has === wanted &&
    (await access(python).then(
      () => true,
      () => false,
    ))
  )
    return;
  await rm(environment, { recursive: true, force: true });
  await run("python3", ["-m", "venv", environment], here);
  await run(python, ["-m", "pip", "install", "--quiet", "--requirement", requirements, "--editable", client], here);
  await writeFile(marker, wanted);
}

const here = { cwd: client, env: process.env };
const say = (text: string) => console.log(text.trim());

await prepare();
const checked = ["src/rebid", "tests", "examples"];
for (const version of ["3.10", "3.11", "3.12", "3.13"]) {
  say(`mypy for ${version}: ${await run(python, ["-m", "mypy", "--python-version", version, ...checked], here)}`);
}
say(`pyright: ${await run(python, ["-m", "pyright", "--pythonpath", python, ...checked], here)}`);

const directory = await mkdtemp(join(tmpdir(), "rebid-python-"));
// The wheel is built from the sdist, so each has all that it needs.
await run(python, ["-m", "build", "--outdir", directory, client], here);
const wheel = (await readdir(directory)).find((name) => name.endsWith(".whl")) ?? "";
await run(
  python,
  ["-m", "pip", "install", "--quiet", "--no-deps", "--target", join(directory, "installed"), join(directory, wheel)],
  here,
);
const installed = { cwd: directory, env: { ...process.env, PYTHONPATH: join(directory, "installed") } };
say(`${wheel}: ${await run(python, ["-c", "import rebid; print(rebid.__file__)"], installed)}`);

const port = String(await getPort());
const settings = { DATA_DIR: join(directory, "data"), PORT: port, LOG_LEVEL: "error" };
const service = startProcess("npm", ["start"], { cwd: checkout, env: { ...process.env, ...settings } });
const url = `http://localhost:${port}`;
const proxy = await startHostileProxy(() => url);
try {
  await service.ready;
  const env = {
    ...process.env,
    TEST_SERVICE_URL: url,
    TEST_PROXY_URL: proxy.url,
    TEST_BEHAVIOURS: join(checkout, "test/sdk/behaviours/behaviours.json"),
  };
  const tests = spawn(python, ["-m", "pytest", "tests"], { cwd: client, env, stdio: "inherit" });
  const [code] = await once(tests, "exit");
  if (code !== 0) process.exitCode = 1;
  const programs = await runGuides(python, url, join(directory, "guides"));
  say(`guides: their ${programs} programs in Python do what they say`);
} finally {
  await proxy.close();
  await service.stop();
  await rm(directory, { recursive: true, force: true });
}
