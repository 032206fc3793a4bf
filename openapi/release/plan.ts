import type { Change } from "../changes/schemas.ts";

const levels = ["major", "minor", "patch"] as const;
type Level = (typeof levels)[number];

/** What makes the next version higher, and by how much. */
export interface Step {
  level: Level;
  reason: string;
}

/**
 * Returns what the next version is for, by Semantic Versioning. Before 1.0.0, a breaking change raises the minor version.
 * `section` is the changelog's [Unreleased].
 */
export function stepOf(current: string, changes: readonly Change[], section: string): Step {
  const breaks = changes.some(({ isBreaking }) => isBreaking) || /^### Removed$|\*\*Breaking/m.test(section);
  if (breaks)
    return { level: current.startsWith("0.") ? "minor" : "major", reason: "something breaks existing clients" };
  if (changes.length > 0) return { level: "minor", reason: "the document has additions" };
  if (/^### (Added|Changed|Deprecated)$/m.test(section))
    return { level: "minor", reason: "the changelog has additions" };
  return { level: "patch", reason: "nothing was added" };
}

/** Returns the version after `current`. Throws when `current` is not three numbers. */
export function versionAfter(current: string, level: Level): string {
  const parts = /^(\d+)\.(\d+)\.(\d+)$/.exec(current)?.slice(1).map(Number);
  if (parts === undefined) throw new Error(`${current} is not a version of three numbers`);
  const raised = levels.indexOf(level);
  return parts.map((part, index) => (index < raised ? part : index === raised ? part + 1 : 0)).join(".");
}

/** Moves what is unreleased into a section of its own. Returns the whole changelog. */
export function releaseChangelog(changelog: string, version: string, date: string): string {
  return changelog.replace(/^## \[Unreleased\]\n/m, `## [Unreleased]\n\n## [${version}] - ${date}\n`);
}
