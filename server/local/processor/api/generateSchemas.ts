/**
 * Generates `schemas.json`: a JSON Schema for each call in `parameterTypes.ts`, from the types of the installed
 * `stripe` package. Run it after upgrading that package or changing that file:
 *
 *     npm run tools && npm run schemas
 */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Stripe from "stripe";

const here = import.meta.dirname;
const packages = join(here, "../../../../node_modules");
/** It brings a compiler of its own, so it is not among the packages that everybody installs. */
const generator = join(here, "../../../../test/tools/node_modules/.bin/ts-json-schema-generator");
const target = join(here, "schemas.json");
const workDirectory = mkdtempSync(join(tmpdir(), "stripe-schemas-"));

try {
  copyTypesWithClosedEnums();
  writeFileSync(target, withStableNames(JSON.stringify(generate(), integersOnly, 2)));
  execFileSync(join(packages, ".bin/biome"), ["format", "--write", target]);
} finally {
  rmSync(workDirectory, { recursive: true });
}

/**
 * The SDK adds `OtherString` (any string) to each enum, so that old clients accept new values in responses. In a
 * request, a value outside the enum is an error, so the copy replaces it with `never`. Decimals are sent as strings.
 */
function copyTypesWithClosedEnums(): void {
  const copy = join(workDirectory, "node_modules/stripe");
  mkdirSync(copy, { recursive: true });
  cpSync(join(packages, "stripe", "package.json"), join(copy, "package.json"));
  cpSync(join(packages, "stripe", "esm"), join(copy, "esm"), {
    recursive: true,
    filter: (path) => !path.endsWith(".js") && !path.endsWith(".map"),
  });
  const shared = join(copy, "esm/shared.d.ts");
  writeFileSync(
    shared,
    readFileSync(shared, "utf8")
      .replace(/export type OtherString = .*;/, "export type OtherString = never;")
      .replace("export { Decimal } from './Decimal.js';", "export type Decimal = string;"),
  );
  cpSync(join(here, "parameterTypes.ts"), join(workDirectory, "parameterTypes.ts"));
  // As an ES module, so that the types resolve under the package's `import` condition.
  writeFileSync(join(workDirectory, "package.json"), JSON.stringify({ type: "module" }));
  writeFileSync(
    join(workDirectory, "tsconfig.json"),
    JSON.stringify({ compilerOptions: { module: "nodenext", strict: true, skipLibCheck: true, types: [] } }),
  );
}

/**
 * Replaces the generator's names of anonymous types, hashes of a temporary path that change in each run, with numbers.
 */
function withStableNames(json: string): string {
  const names = new Map<string, string>();
  return json.replace(/(def-)?[a-z]+(-\d+){4,}/g, (name) => {
    if (!names.has(name)) names.set(name, `unnamed-${names.size + 1}`);
    return names.get(name) ?? name;
  });
}

/** TypeScript has no integer type, and none of these calls accepts fractions. */
function integersOnly(key: string, value: unknown): unknown {
  return key === "type" && value === "number" ? "integer" : value;
}

function generate(): object {
  const schema = JSON.parse(
    execFileSync(
      generator,
      [
        ...["--path", join(workDirectory, "parameterTypes.ts"), "--tsconfig", join(workDirectory, "tsconfig.json")],
        ...["--type", "CallParameters", "--expose", "export", "--jsDoc", "none", "--no-type-check"],
        // Sorted, they would be in the order of names that change in each run.
        "--unstable",
      ],
      { encoding: "utf8", maxBuffer: 64_000_000 },
    ),
  );
  const { CallParameters: calls, ...definitions } = schema.definitions ?? {};
  if (typeof calls !== "object" || calls.properties === undefined) throw new Error("CallParameters was not found.");
  return { apiVersion: Stripe.API_VERSION, calls: calls.properties, definitions };
}
