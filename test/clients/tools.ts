import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { run } from "../install/processes.ts";

export const checkout = join(import.meta.dirname, "../..");
export const tools = join(checkout, "test/tools");
/** What uses the generated clients: the main job in each language. */
export const programs = join(tools, "clients");

/** A client that is made from the API document. */
export interface Client {
  name: string;
  generate(document: string, folder: string): Promise<void>;
  /** What takes a task from sign-up to payout; the address of the service follows as the last parameter. */
  command(folder: string): [program: string, ...parameters: string[]];
}

/** Runs a program of the packages in `test/tools`. */
export const tool = (name: string, ...parameters: string[]) =>
  run(join(tools, "node_modules/.bin", name), parameters, { cwd: tools, env: process.env });

/** Writes the document as OpenAPI 3.0, for generators from before 3.1. */
export async function downConvert(document: string, older: string): Promise<void> {
  await tool("openapi-down-convert", "--input", document, "--output", older);
  await writeFile(older, JSON.stringify(withoutNull(JSON.parse(await readFile(older, "utf8")))));
}

/** Writes "or null" as OpenAPI 3.0 does where the converter leaves it: in an enum, and beside a record. */
function withoutNull(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(withoutNull);
  if (typeof part !== "object" || part === null) return part;
  const entries = Object.entries(part).map(([key, inner]) => {
    const isEnum = key === "enum" && Array.isArray(inner);
    return [key, isEnum ? inner.filter((value) => value !== null) : withoutNull(inner)] as const;
  });
  const { anyOf, ...rest } = Object.fromEntries(entries);
  const isNull = (option: unknown) => (option as { type?: unknown }).type === "null"; // options are schemas
  if (!Array.isArray(anyOf) || !anyOf.some(isNull)) return Object.fromEntries(entries);
  return { ...rest, nullable: true, allOf: anyOf.filter((option) => !isNull(option)) };
}
