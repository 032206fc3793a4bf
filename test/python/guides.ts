import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileOf, sections } from "../../docs/site/navigation.ts";
import { blocksIn } from "../docs/blocks.ts";
import { programsOf } from "../docs/programs.ts";
import { run } from "../install/processes.ts";

const checkout = join(import.meta.dirname, "../..");

/**
 * Saves the Python of the guides, one file for each as its reader does, checks its types, and runs it on a service. Returns how
 * many programs there are.
 */
export async function runGuides(python: string, url: string, folder: string): Promise<number> {
  const guides = sections.flatMap((section) => section.guides);
  const pages = await Promise.all(
    guides.map(async (guide) => blocksIn(await readFile(join(checkout, fileOf(guide)), "utf8"), guide.slug)),
  );
  const programs = programsOf(pages.flat(), "python").map((program) => ({
    ...program,
    module: program.guide.replaceAll("-", "_"),
  }));
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  for (const { module, code } of programs)
    await writeFile(join(folder, `${module}.py`), code.replaceAll("http://localhost:3000", url));
  const where = { cwd: folder, env: process.env };
  await run(python, ["-m", "mypy", "--strict", "."], where);

  // One process, so that the first program runs once for all that import it.
  const lines = programs.map(({ module }) => `print("=== ${module} ===")\nimport ${module}`);
  const output = await run(python, ["-c", lines.join("\n")], where);
  for (const { module, refusals } of programs) {
    const shown = output.split(`=== ${module} ===\n`)[1]?.split("\n=== ")[0] ?? "";
    for (const refusal of refusals)
      if (!shown.includes(refusal)) throw new Error(`${module}.py does not show ${refusal}:\n${shown}`);
  }
  return programs.length;
}
