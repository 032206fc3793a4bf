import { access, cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { run } from "../install/processes.ts";
import { type Client, checkout, downConvert, programs } from "./tools.ts";

/** Where what `-- all` fetches is kept: packages of PyPI in an environment of their own, and OpenAPI Generator of Maven Central. */
const build = join(checkout, ".build/clients");
const python = join(build, "python/bin/python");
const generator = "7.17.0";
const oapiCodegen = "v2.8.2";
const goToolchain = "go1.26.0";

const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );

/** Makes the Python environment, and returns the path of a program in it. */
async function pythonTool(name: string): Promise<string> {
  const program = join(build, "python/bin", name);
  if (await exists(program)) return program;
  const here = { cwd: checkout, env: process.env };
  await run("python3", ["-m", "venv", join(build, "python")], here);
  const packages = [
    "openapi-python-client",
    "datamodel-code-generator[http]",
    "httpx",
    "pydantic[email]",
    "attrs",
    "python-dateutil",
  ];
  await run(python, ["-m", "pip", "install", "--quiet", ...packages], here);
  return program;
}

const maven = (folder: string, ...parameters: string[]) =>
  run("mvn", ["--quiet", "--batch-mode", ...parameters], { cwd: folder, env: process.env });

async function generatorJar(): Promise<string> {
  const jar = join(build, `openapi-generator-cli-${generator}.jar`);
  if (await exists(jar)) return jar;
  await mkdir(build, { recursive: true });
  const artifact = `org.openapitools:openapi-generator-cli:${generator}:jar`;
  await maven(build, "dependency:copy", `-Dartifact=${artifact}`, `-DoutputDirectory=${build}`);
  return jar;
}

/** The machine's own Go if it is recent enough or finds a newer one by itself, as 1.21 does; else one of the Go proxy. */
async function goTool(): Promise<string> {
  const here = { cwd: build, env: process.env };
  const [, minor = "0"] = /go1\.(\d+)/.exec(await run("go", ["version"], { cwd: checkout, env: process.env })) ?? [];
  if (Number(minor) >= 21) return "go";
  const platform = `${process.platform}-${process.arch === "x64" ? "amd64" : process.arch}`;
  await mkdir(build, { recursive: true });
  const module = `golang.org/toolchain@v0.0.1-${goToolchain}.${platform}`;
  const { Dir } = z
    .object({ Dir: z.string() })
    .parse(JSON.parse(await run("go", ["mod", "download", "-json", module], here)));
  // Modules have no programs for Go, which takes their right to be run.
  await run("chmod", ["-R", "u+x", join(Dir, "bin"), join(Dir, "pkg/tool")], here);
  return join(Dir, "bin/go");
}

/** The clients that `npm run check:clients -- all` makes beside CI's. */
export const otherClients: Client[] = [
  {
    name: "openapi-python-client",
    async generate(document, folder) {
      const output = ["--output-path", join(folder, "rebid_client"), "--meta", "none"];
      await run(await pythonTool("openapi-python-client"), ["generate", "--path", document, ...output], {
        cwd: folder,
        env: process.env,
      });
      await cp(join(programs, "openapiPythonClient.py"), join(folder, "main.py"));
      await cp(join(programs, "outside.py"), join(folder, "outside.py"));
    },
    command: (folder) => [python, join(folder, "main.py")],
  },
  {
    name: "datamodel-code-generator and httpx",
    async generate(document, folder) {
      const output = ["--output", join(folder, "models.py"), "--output-model-type", "pydantic_v2.BaseModel"];
      await run(
        await pythonTool("datamodel-codegen"),
        ["--input", document, "--input-file-type", "openapi", ...output],
        {
          cwd: folder,
          env: process.env,
        },
      );
      await cp(join(programs, "datamodel.py"), join(folder, "main.py"));
      await cp(join(programs, "outside.py"), join(folder, "outside.py"));
    },
    command: (folder) => [python, join(folder, "main.py")],
  },
  {
    name: `Java by OpenAPI Generator ${generator}`,
    async generate(document, folder) {
      const packages = "library=native,apiPackage=rebid.api,modelPackage=rebid.model,invokerPackage=rebid";
      const parameters = ["-i", document, "-g", "java", "-o", folder, "--additional-properties", packages];
      await run("java", ["-jar", await generatorJar(), "generate", ...parameters], { cwd: folder, env: process.env });
      await cp(join(programs, "Main.java"), join(folder, "src/main/java/Main.java"));
      const classpath = join(folder, "classpath");
      await maven(
        folder,
        "-Dmaven.test.skip=true",
        "compile",
        "dependency:build-classpath",
        `-Dmdep.outputFile=${classpath}`,
      );
      await writeFile(
        join(folder, "arguments"),
        `-cp ${join(folder, "target/classes")}:${await readFile(classpath, "utf8")}`,
      );
    },
    command: (folder) => ["java", `@${join(folder, "arguments")}`, "Main"],
  },
  {
    name: "Go by oapi-codegen",
    async generate(document, folder) {
      const older = join(folder, "openapi-3.0.json"); // it does not read 3.1
      await downConvert(document, older);
      await mkdir(join(folder, "rebid"));
      await writeFile(
        join(folder, "go.mod"),
        "module job\n\ngo 1.26\n\nrequire github.com/oapi-codegen/runtime v1.9.0\n",
      );
      const program = await goTool();
      const go = (...parameters: string[]) => run(program, parameters, { cwd: folder, env: process.env });
      // The generator names what a call returns as the document names some bodies, such as TestClockResponse.
      const names = ["-package", "rebid", "-response-type-suffix", "Answer"];
      const output = ["-generate", "types,client", ...names, "-o", "rebid/rebid.go"];
      await go("run", `github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@${oapiCodegen}`, ...output, older);
      await cp(join(programs, "main.go"), join(folder, "main.go"));
      await go("mod", "tidy");
      await go("vet", "./...");
      await go("build", "-o", "job", ".");
    },
    command: (folder) => [join(folder, "job")],
  },
];
