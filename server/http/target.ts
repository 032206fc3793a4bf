import { ApiError, type InputIssue } from "../errors.ts";

/** What a request asks for: its path, decoded, and its query, still in the form it was sent in. */
export interface Target {
  path: string;
  search: string;
}

/**
 * Takes a request target apart, in its usual form or in the absolute form that proxies use (RFC 9112, 3.2.2). Gives null
 * when the path's escapes cannot be decoded or hide what would make another path of it: there is nothing then.
 */
export function parseTarget(url: string): Target | null {
  const [, rawPath = "", search = ""] = /^(?:https?:\/\/[^/?#]*)?([^?#]*)(\?[^#]*)?/i.exec(url) ?? [];
  const path = decode(rawPath);
  if (path === null || !/^\/[\w/.~-]*$/.test(path) || path.split("/").length !== rawPath.split("/").length) return null;
  // trpc-to-openapi parses the path as a URL again, where these segments would lead to another operation.
  if (/\/\.\.?(\/|$)/.test(path)) return null;
  return { path, search: search.slice(1) };
}

/**
 * The query as fields of an input. Values are text; what should be an integer becomes one if it is written as one, so
 * that the schemas need no coercion. Throws `invalid_input` for what is given twice, and for escapes that say nothing.
 */
export function parseQuery(search: string, integerParameters: ReadonlySet<string>): Map<string, unknown> {
  const fields = new Map<string, unknown>();
  const issues: InputIssue[] = [];
  for (const pair of search.split("&").filter((part) => part !== "")) {
    const [name, text] = splitPair(pair).map((part) => decode(part.replaceAll("+", " ")));
    if (name == null || text == null) issues.push({ path: name ?? "", message: "The query has a broken % escape." });
    else if (fields.has(name)) issues.push({ path: name, message: "This parameter is given more than once." });
    else fields.set(name, integerParameters.has(name) ? integerOf(text) : text);
  }
  if (issues.length > 0) throw new ApiError("invalid_input", { issues });
  return fields;
}

function splitPair(pair: string): [string, string] {
  const at = pair.indexOf("=");
  return at < 0 ? [pair, ""] : [pair.slice(0, at), pair.slice(at + 1)];
}

const integerPattern = /^(0|-?[1-9]\d{0,14})$/;

/** What is no integer stays text, and the schema says so. */
function integerOf(text: string): number | string {
  return integerPattern.test(text) ? Number(text) : text;
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
