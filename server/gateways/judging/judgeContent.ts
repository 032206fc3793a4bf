import { RE2JS } from "re2js";
import type { BuiltInCheck } from "../../schemas/check.ts";
import type { Verdict } from "../../schemas/checkResult.ts";
import { judgeArchive } from "./judgeArchive.ts";
import { judgeCsv } from "./judgeCsv.ts";
import { compileSchema, judgeJson } from "./judgeJson.ts";
import { judgeText } from "./judgeText.ts";
import { failed, faulty } from "./verdict.ts";

export type ContentCheck = Extract<BuiltInCheck, { kind: "text" | "json_schema" | "csv" | "archive" }>;

/** The whole file, or the end of an archive. */
export interface Content {
  bytes: number;
  content: Uint8Array;
}

/** Judges what a file contains, which may be hostile: run this in a thread that can be stopped. */
export async function judgeContent(check: ContentCheck, { bytes, content }: Content): Promise<Verdict> {
  if (check.kind === "archive") return judgeArchive(content, bytes, check);
  const text = decode(content);
  if (text === null) return failed("The file is not text in UTF-8.");
  try {
    if (check.kind === "csv") return judgeCsv(content, check);
    return check.kind === "text" ? judgeText(text, check) : judgeJson(text, check);
  } catch {
    // The check was tried when it was set, so this is its work on the file: a schema that refers to itself without end.
    return faulty("The check cannot be carried out on this file.");
  }
}

function decode(content: Uint8Array): string | null {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(content);
    return text.includes("\0") ? null : text;
  } catch {
    return null;
  }
}

/** Why a check can judge nothing; null if it can. */
export function faultOfCheck(check: ContentCheck): string | null {
  try {
    if (check.kind === "text" && check.matches !== undefined) RE2JS.compile(check.matches);
    if (check.kind === "json_schema") compileSchema(check.schema);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : "It cannot be read.";
  }
}
