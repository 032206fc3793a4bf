import { type ErrorCode, errorCatalogue } from "../../server/errors.ts";
import { errorsOf } from "../../server/meta.ts";
import type { Operation } from "./operations.ts";

/** A documentation comment of these paragraphs, or nothing if there are none. Biome breaks no lines of comments. */
export function documentation(paragraphs: readonly (string | undefined)[]): string {
  const lines = paragraphs
    .filter((paragraph) => paragraph !== undefined && paragraph !== "")
    .flatMap((paragraph, index) => [...(index === 0 ? [] : [""]), ...wrap(String(paragraph).replaceAll("*/", "*\\/"))]);
  if (lines.length === 0) return "";
  if (lines.length === 1) return `/** ${lines[0]} */\n`;
  return `/**\n${lines.map((line) => ` * ${line}`.trimEnd()).join("\n")}\n */\n`;
}

const WIDTH = 112;

/** Breaks a paragraph into lines. */
export function wrap(paragraph: string, width: number = WIDTH): string[] {
  return paragraph.split("\n").flatMap((text) => {
    const lines: string[] = [];
    for (const word of text.split(" ")) {
      const line = lines.at(-1);
      if (line === undefined || line.length + word.length >= width) lines.push(word);
      else lines[lines.length - 1] = `${line} ${word}`;
    }
    return lines;
  });
}

/** What any call can be refused with. The documentation of `RebidError` names them. */
const common = new Set<ErrorCode>([
  "invalid_input",
  "payload_too_large",
  "unsupported_media_type",
  "rate_limited",
  "internal_error",
  "unavailable",
]);

/** What a method's documentation says: what it does, who may call it, and what it can throw. */
export function documentOperation(operation: Operation): string {
  const { paragraphs, codes } = describeOperation(operation);
  return documentation([...paragraphs, codes === "" ? undefined : `@throws {RebidError} ${codes}.`]);
}

/** What there is to say about a method in any language, and the codes of its own errors. */
export function describeOperation({ meta, method, path }: Operation): { paragraphs: string[]; codes: string } {
  const { summary = "", description = "" } = meta;
  const codes = errorsOf(meta).filter((code) => !common.has(code));
  return {
    paragraphs: [
      /[.!?]$/.test(summary) ? summary : `${summary}.`,
      description,
      `\`${method} ${path}\`. ${whoMayCall(meta.access)}`,
    ].filter((paragraph) => paragraph !== ""),
    codes: codes.toSorted(byStatus).map(describe).join(", "),
  };
}

const byStatus = (a: ErrorCode, b: ErrorCode): number => errorCatalogue[a].status - errorCatalogue[b].status;
const describe = (code: ErrorCode): string => `\`${code}\` (${errorCatalogue[code].status})`;

function whoMayCall(access: Operation["meta"]["access"]): string {
  if (access === undefined || access === "public") return "Anyone may call it.";
  if (access === "any") return "With any credentials.";
  if (access === "session") return "With a browser session; API keys are refused.";
  if (access === "moderator") return "With a moderator's browser session.";
  return `An API key needs the scope \`${access.scope}\`.`;
}
