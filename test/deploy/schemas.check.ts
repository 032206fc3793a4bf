import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, onTestFinished, test } from "vitest";

const run = promisify(execFile);
const deploy = join(import.meta.dirname, "../../deploy");
/** The validators of `requirements.txt`, which bring the schemas. */
const tools = join(import.meta.dirname, "../../.build/deploy-tools");

beforeAll(async () => {
  await run("python3", ["-m", "venv", tools]);
  const requirements = join(import.meta.dirname, "requirements.txt");
  // Of the 17,000 files, a run needs a few: compiling the rest takes longer than everything else.
  const options = ["--quiet", "--disable-pip-version-check", "--no-compile"];
  await run(join(tools, "bin/pip"), ["install", ...options, "--requirement", requirements]);
});

/** Runs a command; returns what it prints if it finds fault with a file, and nothing otherwise. */
async function faults(command: string[]): Promise<string> {
  const [program = "", ...parameters] = command;
  return run(program, parameters).then(
    () => "",
    ({ stdout, stderr }) => String(stdout) + String(stderr),
  );
}

/** A copy of a file with one mistake, under the same name. */
async function withMistake(file: string, right: string, wrong: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "rebid-deploy-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const text = await readFile(join(deploy, file), "utf8");
  expect(text).toContain(right);
  const copy = join(folder, basename(file).replace("@", "@api"));
  await writeFile(copy, text.replace(right, wrong));
  return copy;
}

const kubernetes = [join(tools, "bin/kubernetes-validate"), "--strict", "--quiet"];
const jsonSchema = (name: string) => [join(tools, "bin/check-jsonschema"), "--builtin-schema", `vendor.${name}`];

test.each([
  ["compose.yaml", jsonSchema("compose-spec"), "depends_on:", "depend_on:"],
  ["release.yaml", jsonSchema("github-workflows"), "id-token: write", "id-token: sign"],
  ["kubernetes/rebid.yaml", kubernetes, "failureThreshold", "failureTreshold"],
  ["kubernetes/rebid.yaml", kubernetes, "replicas: 2", 'replicas: "2"'],
])("%s is what its schema allows", async (file, validator, right, wrong) => {
  expect(await faults([...validator, join(deploy, file)])).toBe("");
  expect(await faults([...validator, await withMistake(file, right, wrong)])).not.toBe("");
});

test("systemd understands the unit", async () => {
  const unit = "systemd/rebid@.service";
  const program = /^ExecStart=(\S+)/m.exec(await readFile(join(deploy, unit), "utf8"))?.[1] ?? "";
  // It prints what it ignores, too.
  const verify = async (path: string) => {
    const { stdout, stderr } = await run("systemd-analyze", ["verify", path]);
    return stdout + stderr;
  };
  expect(await verify(await withMistake(unit, program, process.execPath))).toBe("");
  await expect(verify(await withMistake(unit, program, "/nowhere/node"))).rejects.toThrow("/nowhere/node");
});
