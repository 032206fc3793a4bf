import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";

export const bodyChanges = [
  "truncated",
  "trailing garbage",
  "byte order mark",
  "invalid UTF-8",
  "UTF-16",
  "gzip",
  "deflate",
  "brotli",
  "broken gzip",
  "gzip bomb",
  "brotli bomb",
  "unknown encoding",
  "form",
  "plain text",
  "no type",
  "latin1",
  "chunked",
  "empty",
  "array",
  "scalar",
  "not JSON",
  "comments",
  "huge",
] as const;

export const targetChanges = [
  "slash",
  "upper case",
  "escaped",
  "dots",
  "double slash",
  "broken escape",
  "escaped NUL",
  "repeated parameter",
  "many parameters",
  "long",
  "other method",
  "HEAD",
  "absolute",
] as const;

const manyParameters = Array.from({ length: 900 }, (_, index) => `a${index}=%zz`)
  .join("&")
  .slice(0, 6_000);
const longParameter = `x=${"y".repeat(6_000)}`;
const gzipBomb = gzipSync(Buffer.alloc(8_000_000, " "), { level: 9 });
const brotliBomb = brotliCompressSync(Buffer.from(`{"a":${'["\\u0000",'.repeat(20_000)}0${"]".repeat(20_000)}}`));

export type BodyChange = (typeof bodyChanges)[number] | null;
export type TargetChange = (typeof targetChanges)[number] | null;

const otherMethods: Record<string, string> = { GET: "POST", POST: "GET", PATCH: "PUT", DELETE: "PATCH" };

/** Changes the target or the method. */
export function changeTarget(change: TargetChange, method: string, target: string) {
  if (change === null) return { method, target, isOdd: false };
  if (change === "HEAD") return { method: "HEAD", target, isOdd: true };
  if (change === "other method") return { method: otherMethods[method] ?? "OPTIONS", target, isOdd: true };
  return { method, target: changedTarget(change, target), isOdd: true };
}

function changedTarget(change: Exclude<TargetChange, "HEAD" | "other method" | null>, target: string): string {
  const [path = "", query] = target.split("?", 2);
  const withPath = (changed: string) => (query === undefined ? changed : `${changed}?${query}`);
  const withMore = (parameters: string) => `${target}${query === undefined ? "?" : "&"}${parameters}`;
  switch (change) {
    case "slash":
      return withPath(`${path}/`);
    case "upper case":
      return withPath(path.toUpperCase());
    case "escaped":
      return withPath(path.replace(/[a-z]/g, (letter) => `%${letter.charCodeAt(0).toString(16)}`));
    case "dots":
      return withPath(`${path}/../${path.split("/").at(-1)}/.`);
    case "double slash":
      return withPath(`/${path}`);
    case "broken escape":
      return withPath(`${path}%zz%`);
    case "escaped NUL":
      return withPath(`${path}%00%0d%0a%2f`);
    case "repeated parameter":
      return withMore("limit=1&limit=2&x[]=1&x[]=2&input=1&input=2");
    case "many parameters":
      return withMore(manyParameters);
    case "long":
      return withMore(longParameter);
    case "absolute":
      return `http://elsewhere.example${target}`;
  }
}

const jsonType: [string, string] = ["Content-Type", "application/json"];

/** Changes the bytes of a body, and says what the headers must say. */
export function changeBody(change: BodyChange, body: Buffer | null) {
  const typed = (changed: Buffer, type = "application/json", ...lines: [string, string][]) => {
    return { body: changed, lines: [["Content-Type", type] as [string, string], ...lines], chunked: false };
  };
  if (change === null) return { body, lines: body === null ? [] : [jsonType], chunked: false };
  const bytes = body ?? Buffer.from("{}");
  const text = bytes.toString();
  const encoded = (changed: Buffer, encoding: string) => typed(changed, jsonType[1], ["Content-Encoding", encoding]);
  switch (change) {
    case "truncated":
      return typed(bytes.subarray(0, bytes.length / 2));
    case "trailing garbage":
      return typed(Buffer.concat([bytes, Buffer.from(" \0}]")]));
    case "byte order mark":
      return typed(Buffer.from(`\ufeff${text}`));
    case "invalid UTF-8":
      return typed(Buffer.concat([bytes.subarray(0, 2), Buffer.from([0xff, 0xc0, 0x80]), bytes.subarray(2)]));
    case "UTF-16":
      return typed(Buffer.from(text, "utf16le"), "application/json; charset=utf-16");
    case "gzip":
      return encoded(gzipSync(bytes), "gzip");
    case "deflate":
      return encoded(deflateSync(bytes), "deflate");
    case "brotli":
      return encoded(brotliCompressSync(bytes), "br");
    case "broken gzip":
      return encoded(Buffer.concat([gzipSync(bytes).subarray(0, 15), bytes]), "gzip");
    case "gzip bomb":
      return encoded(gzipBomb, "gzip");
    case "brotli bomb":
      return encoded(brotliBomb, "br");
    case "unknown encoding":
      return encoded(bytes, "gzip, identity, x");
    case "form":
      return typed(Buffer.from("a=1&b=2"), "application/x-www-form-urlencoded");
    case "plain text":
      return typed(bytes, "text/plain; application/json");
    case "no type":
      return { body: bytes, lines: [], chunked: false };
    case "latin1":
      return typed(Buffer.from(text, "latin1"), "application/json; charset=iso-8859-1");
    case "chunked":
      return { body: bytes, lines: [jsonType], chunked: true };
    case "empty":
      return typed(Buffer.alloc(0));
    case "array":
      return typed(Buffer.from(`[${text}]`));
    case "scalar":
      return typed(Buffer.from("null"));
    case "not JSON":
      return typed(Buffer.from("{'a': undefined, NaN}"));
    case "comments":
      return typed(Buffer.from(`/* */${text}//`));
    case "huge":
      return typed(Buffer.from(`{"title":"${"x".repeat(300_000)}"}`));
  }
}
