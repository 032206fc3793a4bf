import type { Block } from "./blocks.ts";

/** What a reader saves of a guide in one language: its blocks, one after another. All but the first import the first's. */
export interface Program {
  guide: string;
  code: string;
  /** The codes of the refusals that it shows. */
  refusals: string[];
}

/** Returns the programs of the guides in one language, in the order of the guides. */
export function programsOf(blocks: readonly Block[], language: "ts" | "python"): Program[] {
  const guides = new Set(blocks.map(({ guide }) => guide));
  return [...guides].flatMap((guide) => {
    const ofGuide = blocks.filter((block) => block.guide === guide);
    const code = ofGuide.filter((block) => block.language === language && block.info === "").map((block) => block.code);
    const refusals = ofGuide.flatMap(({ info }) => /error=(\w+)/.exec(info)?.[1] ?? []);
    return code.length === 0 ? [] : [{ guide, code: `${code.join("\n\n")}\n`, refusals }];
  });
}
