import { globSync, readFileSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";

const checkout = resolve(import.meta.dirname, "../..");

/** What starts a process or a browser. */
const starters = /^(node:child_process|playwright-core|server\/local\/postgres\/start\.ts)$/;
/** What the whole run starts, and what is loaded only behind a pooler, which is a run of its own. */
const shared = ["test/setup/globalSetup.ts", "test/pooler/pooler.ts"];

/**
 * Returns the test files that `npm run test:fast` leaves out: those that start processes or browsers, themselves or through a
 * helper, as their imports say, and those of the test clock.
 */
export function slowFiles(): string[] {
  const isSlow = new Map<string, boolean>();
  const examine = (file: string): boolean => {
    const known = isSlow.get(file);
    if (known !== undefined) return known;
    isSlow.set(file, file.startsWith("test/testClock/"));
    const slow =
      isSlow.get(file) || importsOf(file).some((name) => starters.test(name) || (isHelper(name) && examine(name)));
    isSlow.set(file, slow);
    return slow;
  };
  return globSync("test/**/*.test.ts", { cwd: checkout }).filter(examine);
}

const isHelper = (name: string) => name.startsWith("test/") && name.endsWith(".ts") && !shared.includes(name);

/** Returns what a file of the checkout imports: packages, and other files by their path in the checkout. */
function importsOf(file: string): string[] {
  const source = readFileSync(resolve(checkout, file), "utf8");
  const names = [...source.matchAll(/^import (?!type )(?:[^"]*? from )?"([^"]+)";|\bimport\("([^"]+)"\)/gm)];
  return names
    .map(([, name, imported = ""]) => name ?? imported)
    .map((name) => (name.startsWith(".") ? relative(checkout, resolve(checkout, dirname(file), name)) : name));
}
