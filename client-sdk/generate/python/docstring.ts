import { wrap } from "../documentation.ts";
import { snakeCase } from "./annotations.ts";

const WIDTH = 116;

/** A docstring of these paragraphs, at this indentation, or nothing if there are none. */
export function docstring(paragraphs: readonly (string | undefined)[], indent: string): string {
  const lines = paragraphs
    .filter((paragraph) => paragraph !== undefined && paragraph !== "")
    .flatMap((paragraph, index) => [
      ...(index === 0 ? [] : [""]),
      ...wrap(inPython(String(paragraph)), WIDTH - indent.length),
    ]);
  const [first, ...rest] = lines;
  if (first === undefined) return "";
  if (rest.length === 0) return `${indent}"""${first}"""\n`;
  return `${indent}"""${[first, ...rest.map((line) => (line === "" ? "" : indent + line)), `${indent}"""`].join("\n")}\n`;
}

/** The service's texts name fields as they are on the wire. */
const inPython = (text: string): string =>
  text
    .replaceAll("\\", "\\\\")
    .replace(/`([a-z]+(?:[A-Z][a-z0-9]*)+)`/g, (_, name: string) => `\`${snakeCase(name)}\``);
