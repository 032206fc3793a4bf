import { access } from "node:fs/promises";
import { join } from "node:path";

type Run = (command: string, parameters: string[], cwd: string) => Promise<string>;

/**
 * Builds the sdist of the Python client, and from it the wheel. What builds them comes from PyPI, into an environment below
 * `checkout` that is kept. Throws without python3 with venv.
 */
export async function buildPython(run: Run, checkout: string, directory: string, output: string): Promise<void> {
  const environment = join(checkout, ".build/python-build");
  const program = join(environment, "bin/pyproject-build");
  const isInstalled = await access(program).then(
    () => true,
    () => false,
  );
  if (!isInstalled) {
    await run("python3", ["-m", "venv", environment], checkout);
    await run(join(environment, "bin/pip"), ["install", "--quiet", "build>=1.2"], checkout);
  }
  await run(program, ["--outdir", output, join(directory, "client-sdk/python")], directory);
}
