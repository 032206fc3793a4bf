/**
 * `npm run check:clients`: generates clients from the document that a running service serves, and has each of them take a task
 * from sign-up to payout on that service. Needs `npm run tools`, Java, and Python with urllib3 and dateutil.
 */
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import getPort from "get-port";
import { run, startProcess } from "../install/processes.ts";

const checkout = join(import.meta.dirname, "../..");
const tools = join(checkout, "test/tools");
const programs = join(tools, "clients");
/** Inside the tools' folder, so that generated code finds its packages. */
const output = join(tools, ".data");

interface Client {
  name: string;
  generate(document: string, folder: string): Promise<void>;
  command(folder: string): [program: string, ...parameters: string[]];
}

const tool = (name: string, ...parameters: string[]) =>
  run(join(tools, "node_modules/.bin", name), parameters, { cwd: tools, env: process.env });

/** Compiles a program with what was generated for it, as strictly as TypeScript can. */
async function compile(folder: string, program: string): Promise<void> {
  await cp(join(programs, `${program}.ts`), join(folder, "main.ts"));
  await cp(join(programs, "outside.ts"), join(folder, "outside.ts"));
  await writeFile(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  const compilerOptions = {
    target: "es2022",
    lib: ["es2022", "dom", "dom.iterable"],
    module: "nodenext",
    types: ["node"],
    strict: true,
    outDir: "dist",
    rootDir: ".",
    skipLibCheck: false,
  };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["main.ts"] }));
  await tool("tsc", "--project", folder);
}

const clients: Client[] = [
  {
    name: "openapi-typescript and openapi-fetch",
    async generate(document, folder) {
      await tool("openapi-typescript", document, "--output", join(folder, "schema.d.ts"));
      await compile(folder, "openapiFetch");
    },
    command: (folder) => [process.execPath, join(folder, "dist/main.js")],
  },
  {
    name: "@hey-api/openapi-ts",
    async generate(document, folder) {
      const settings = {
        input: document,
        output: { path: join(folder, "generated"), module: { extension: ".js" } },
        plugins: ["@hey-api/typescript", "@hey-api/sdk", "@hey-api/client-fetch"],
        logs: { file: false, level: "error" },
      };
      const file = join(folder, "settings.mjs");
      await writeFile(file, `export default ${JSON.stringify(settings)};\n`);
      await tool("openapi-ts", "--file", file);
      await compile(folder, "heyApi");
    },
    command: (folder) => [process.execPath, join(folder, "dist/main.js")],
  },
  {
    name: "Python by OpenAPI Generator",
    async generate(document, folder) {
      // The bundled generator is from before OpenAPI 3.1.
      const older = join(folder, "openapi-3.0.json");
      await tool("openapi-down-convert", "--input", document, "--output", older);
      await writeFile(older, JSON.stringify(withoutNull(JSON.parse(await readFile(older, "utf8")))));
      await generateWithJar(older, folder, "python", "packageName=rebid");
      await cp(join(programs, "main.py"), join(folder, "main.py"));
    },
    command: (folder) => ["python3", join(folder, "main.py")],
  },
];

/** Writes "or null" as OpenAPI 3.0 does where the converter leaves it: in an enum, and beside a record. */
function withoutNull(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(withoutNull);
  if (typeof part !== "object" || part === null) return part;
  const entries = Object.entries(part).map(([key, inner]) => {
    const isEnum = key === "enum" && Array.isArray(inner);
    return [key, isEnum ? inner.filter((value) => value !== null) : withoutNull(inner)] as const;
  });
  const { anyOf, ...rest } = Object.fromEntries(entries);
  const isNull = (option: unknown) => (option as { type?: unknown }).type === "null"; // options are schemas
  if (!Array.isArray(anyOf) || !anyOf.some(isNull)) return Object.fromEntries(entries);
  return { ...rest, nullable: true, allOf: anyOf.filter((option) => !isNull(option)) };
}

async function generateWithJar(document: string, folder: string, language: string, properties: string): Promise<void> {
  const jar = join(tools, "node_modules/@openapitools/openapi-generator-cli/bin/openapi-generator.jar");
  const parameters = ["-jar", jar, "generate", "-i", document, "-g", language, "-o", folder];
  // The generator's own parser reports what OpenAPI 3.0 does not know.
  await run("java", [...parameters, "--additional-properties", properties], { cwd: tools, env: process.env });
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
  const [wanted] = process.argv.slice(2);
  for (const { name, generate, command } of clients.filter((each) => each.name.includes(wanted ?? ""))) {
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
