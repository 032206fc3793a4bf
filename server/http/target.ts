import { ApiError } from "../errors.ts";
import { MAX_QUERY_PARAMETERS } from "../schemas/inputBounds.ts";
import type { InputIssue } from "../schemas/inputIssue.ts";
import { shortName } from "../schemas/messages.ts";

/** A request's path, decoded, and its query, as it was sent. */
export interface Target {
  path: string;
  search: string;
}

/**
 * Parses a request target, in its usual form or in the absolute form that proxies use (RFC 9112, 3.2.2). Returns null for
 * a path with escapes that cannot be decoded or that hide a slash or another special character: no such path exists.
 */
export function parseTarget(url: string): Target | null {
  const [, rawPath = "", search = ""] = /^(?:https?:\/\/[^/?#]*)?([^?#]*)(\?[^#]*)?/i.exec(url) ?? [];
  const path = decode(rawPath);
  if (path === null || !/^\/[\w/.~-]*$/.test(path) || path.split("/").length !== rawPath.split("/").length) return null;
  // trpc-to-openapi parses the path as a URL once more, which would resolve these segments to another operation.
  if (/\/\.\.?(\/|$)/.test(path)) return null;
  // A trailing slash names the same operation.
  return { path: path.replace(/([^/])\/$/, "$1"), search: search.slice(1) };
}

/** Names of the parameters that an operation knows. */
interface KnownParameters {
  queryParameters: ReadonlySet<string>;
  integerParameters: ReadonlySet<string>;
}

/**
 * Returns the query's parameters by name. Values are text; integer parameters become numbers, so that the schemas need no
 * coercion. An empty parameter counts as left out, if the operation knows it. Throws `invalid_input` for too many
 * parameters, for one that is given twice, and for a broken % escape.
 */
export function parseQuery(
  search: string,
  { queryParameters, integerParameters }: KnownParameters,
): Map<string, unknown> {
  const fields = new Map<string, unknown>();
  const issues = new Map<string, InputIssue>();
  const pairs = search.split("&").filter((part) => part !== "");
  if (pairs.length > MAX_QUERY_PARAMETERS) {
    const message = `The query has more than ${MAX_QUERY_PARAMETERS} parameters.`;
    throw new ApiError("invalid_input", { issues: [{ path: "", message }] });
  }
  for (const pair of pairs) {
    const [name, text] = splitPair(pair).map((part) => decode(part.replaceAll("+", " ")));
    const path = shortName(name ?? "");
    const subject = path === "" ? "The query" : `\`${path}\``;
    if (name == null || text == null) issues.set(path, { path, message: `${subject} has a broken % escape.` });
    else if (fields.has(name)) issues.set(path, { path, message: `${subject} is given more than once.` });
    else fields.set(name, integerParameters.has(name) && text !== "" ? integerOf(text) : text);
  }
  if (issues.size > 0) throw new ApiError("invalid_input", { issues: [...issues.values()] });
  return new Map([...fields].filter(([name, value]) => value !== "" || !queryParameters.has(name)));
}

function splitPair(pair: string): [string, string] {
  const at = pair.indexOf("=");
  return at < 0 ? [pair, ""] : [pair.slice(0, at), pair.slice(at + 1)];
}

const integerPattern = /^(0|-?[1-9]\d{0,14})$/;

/** NaN for text that is not an integer: the schema refuses it. */
function integerOf(text: string): number {
  return integerPattern.test(text) ? Number(text) : Number.NaN;
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
