import { cp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { run } from "../install/processes.ts";
import { type Client, downConvert, programs, tool, tools } from "./tools.ts";

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

/** The clients that CI makes. */
export const clients: Client[] = [
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
      await downConvert(document, older);
      await generateWithJar(older, folder, "python", "packageName=rebid");
      await cp(join(programs, "openapiGenerator.py"), join(folder, "main.py"));
      await cp(join(programs, "outside.py"), join(folder, "outside.py"));
    },
    command: (folder) => ["python3", join(folder, "main.py")],
  },
];

async function generateWithJar(document: string, folder: string, language: string, properties: string): Promise<void> {
  const jar = join(tools, "node_modules/@openapitools/openapi-generator-cli/bin/openapi-generator.jar");
  const parameters = ["-jar", jar, "generate", "-i", document, "-g", language, "-o", folder];
  // The generator's own parser reports what OpenAPI 3.0 does not know.
  await run("java", [...parameters, "--additional-properties", properties], { cwd: tools, env: process.env });
}
