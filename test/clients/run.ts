/**
 * `npm run check:clients`: generates clients from the document that a running service serves, and has each of them take a task
 * from sign-up to payout on that service. Needs `npm run tools`, Java, and Python with urllib3 and dateutil. With `-- all`, the
 * clients of the current generators for Python, Java and Go follow, which need PyPI, Maven with a JDK, and Go; with
 * a part of a name, only those whose name has it.
 */
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import getPort from "get-port";
import { run, startProcess } from "../install/processes.ts";
import { clients } from "./clients.ts";
import { otherClients } from "./otherClients.ts";
import { checkout, tools } from "./tools.ts";

/** Inside the tools' folder, so that generated code finds its packages. */
const output = join(tools, ".data");

/** The clients that the command line asks for. */
function chosen() {
  const [wanted] = process.argv.slice(2);
  if (wanted === undefined) return clients;
  const all = [...clients, ...otherClients];
  const found = wanted === "all" ? all : all.filter(({ name }) => name.includes(wanted));
  if (found.length === 0)
    throw new Error(`No client's name has "${wanted}": ${all.map(({ name }) => name).join(", ")}.`);
  return found;
}

if (!existsSync(join(tools, "node_modules"))) {
  console.error("Run `npm run tools` first: it installs the generators.");
  process.exit(1);
}
const directory = await mkdtemp(join(tmpdir(), "rebid-clients-"));
const port = String(await getPort());
const env = { ...process.env, DATA_DIR: directory, PORT: port, LOG_LEVEL: "error" };
const service = startProcess("npm", ["start"], { cwd: checkout, env });
try {
  await service.ready;
  const url = `http://localhost:${port}`;
  const document = join(directory, "openapi.json");
  await writeFile(document, await (await fetch(`${url}/openapi.json`)).text());
  for (const { name, generate, command } of chosen()) {
    const folder = join(output, name.replace(/\W+/g, "-"));
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
    const startedAt = performance.now();
    await generate(document, folder);
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    const [program, ...parameters] = command(folder);
    await run(program, [...parameters, url], { cwd: folder, env: process.env });
    console.log(`${name}: generated in ${seconds} s; its client took a task from sign-up to payout`);
  }
} finally {
  await service.stop();
  await rm(directory, { recursive: true, force: true });
}
