import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stateDiagram } from "../server/market/tasks/stateMachine.ts";

const readmePath = join(import.meta.dirname, "..", "README.md");
const markers = /(<!-- state-diagram[^\n]*-->\n)[\s\S]*?(<!-- \/state-diagram -->)/;

/** Returns the README as it is, and as it is with a newly generated state diagram. A test compares the two. */
export async function readmeWithDiagram(): Promise<{ current: string; generated: string }> {
  const current = await readFile(readmePath, "utf8");
  if (!markers.test(current)) throw new Error("README.md lacks the markers of the state diagram");
  const diagram = `\`\`\`mermaid\n${stateDiagram()}\n\`\`\`\n`;
  return { current, generated: current.replace(markers, (_, start, end) => `${start}${diagram}${end}`) };
}

if (import.meta.main) {
  const { generated } = await readmeWithDiagram();
  await writeFile(readmePath, generated);
}
