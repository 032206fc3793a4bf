import type { Change } from "./schemas.ts";

/** Returns the text of the changelog's section [Unreleased], without its heading. Throws when there is none. */
export function unreleasedSection(changelog: string): string {
  const [, section] = /^## \[Unreleased\]\n(.*?)(?=^## \[|(?![\s\S]))/ms.exec(changelog) ?? [];
  if (section === undefined) throw new Error("CHANGELOG.md has no section [Unreleased]");
  return section.trim();
}

/** Returns the breaking changes whose place is not named, in backticks, in the section. */
export function unnamedChanges(changes: readonly Change[], section: string): Change[] {
  return changes.filter(({ isBreaking, place }) => isBreaking && !section.includes(`\`${place}\``));
}

/** Returns one line for each change, the breaking ones first. */
export function describeChanges(changes: readonly Change[]): string[] {
  const lines = (isBreaking: boolean, mark: string) =>
    changes
      .filter((change) => change.isBreaking === isBreaking)
      .map(({ place, what }) => `${mark} \`${place}\` ${what}`);
  return [...lines(true, "breaking:"), ...lines(false, "addition:")];
}
