import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stateDiagram } from "../server/market/tasks/stateMachine.ts";

const readmePath = join(import.meta.dirname, "..", "README.md");
const markers = /(<!-- state-diagram[^\n]*-->\n)[\s\S]*?(<!-- \/state-diagram -->)/;

/** The README with the diagram that the state machine's table gives; a test compares it with what stands there. */
export async function readmeWithDiagram(): Promise<{ current: string; generated: string }> {
  const current = await readFile(readmePath, "utf8");
  if (!markers.test(current)) throw new Error("README.md has no place for the state diagram");
  const diagram = `\`\`\`mermaid\n${stateDiagram()}\n\`\`\`\n`;
  return { current, generated: current.replace(markers, (_, start, end) => `${start}${diagram}${end}`) };
}

if (import.meta.main) {
  const { generated } = await readmeWithDiagram();
  await writeFile(readmePath, generated);
}
