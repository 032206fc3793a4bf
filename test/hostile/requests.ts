import fc from "fast-check";
import type { Operation } from "./document.ts";
import { type Entries, inputsOf } from "./inputs.ts";
import {
  type BodyChange,
  bodyChanges,
  changeBody,
  changeTarget,
  type TargetChange,
  targetChanges,
} from "./tampering.ts";
import { Known, RawJson, writeJson, writeObject } from "./values.ts";
import { type Caller, goodCallers, otherCallers, type World } from "./world.ts";

/** A request as fast-check draws it. Known ids are resolved when it is sent. */
export interface Spec {
  caller: Caller;
  transport: "rest" | "rpc" | "batch";
  calls: { operation: Operation; input: Entries }[];
  body: BodyChange;
  target: TargetChange;
  header: readonly [name: string, value: string] | null;
}

/** A request that is ready to be sent, and what it is expected to be understood as. */
export interface Request {
  bytes: Buffer;
  method: string;
  /** The operations whose documented responses are allowed; null stands for a procedure that does not exist. */
  calls: (Operation | null)[];
  transport: "rest" | "rpc" | "batch";
  /** True when the target or method was changed, so that any error of the catalogue may be the answer. */
  isOdd: boolean;
}

const headers = fc.constantFrom<readonly [string, string]>(
  ["Accept", "text/html"],
  ["Accept-Encoding", "br;q=1, *;q=0"],
  ["trpc-accept", "application/jsonl"],
  ["X-Forwarded-For", "1.2.3.4, ::1, nonsense"],
  ["X-Forwarded-Host", "evil.example"],
  ["X-Http-Method-Override", "DELETE"],
  ["X-Request-Id", "../../etc/passwd"],
  ["Origin", "null"],
  ["Sec-Fetch-Site", "cross-site"],
  ["Expect", "100-continue"],
  ["Connection", "close"],
  ["Range", "bytes=0-1"],
  ["If-None-Match", "*"],
  ["Idempotency-Key", "x"],
  ["Idempotency-Key", "\u00ff".repeat(300)],
  ["Dry-Run", "true"],
  ["Dry-Run", "maybe"],
  ["Cookie", `a=${"b".repeat(6_000)}`],
  ["traceparent", "00-0-0-zz"],
);

const callers = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom<Caller>(...goodCallers) },
  { weight: 1, arbitrary: fc.constantFrom<Caller>(...otherCallers) },
);

const rarely = <Value>(share: number, arbitrary: fc.Arbitrary<Value>): fc.Arbitrary<Value | null> =>
  fc.oneof({ weight: 100 - share, arbitrary: fc.constant(null) }, { weight: share, arbitrary });

/** Requests to all operations alike, over both transports, most of them wrong in some way. */
export function hostileSpecs(operations: readonly Operation[]): fc.Arbitrary<Spec> {
  const calls = operations.map((operation) => callsOf(operation, operation.hashesPassword ? 0.04 : 0.3));
  const any = fc.oneof(...calls);
  const cheap = calls.filter((_, index) => operations[index]?.hashesPassword === false);
  const wire = {
    caller: callers,
    body: rarely(7, fc.constantFrom(...bodyChanges)),
    target: rarely(6, fc.constantFrom(...targetChanges)),
    header: rarely(8, headers),
  };
  const single = fc.record({
    ...wire,
    transport: fc.constantFrom("rest", "rest", "rpc"),
    calls: any.map((call) => [call]),
  });
  if (cheap.length === 0) return single as fc.Arbitrary<Spec>; // literals
  const batch = fc.record({
    ...wire,
    transport: fc.constant("batch"),
    calls: fc.array(fc.oneof(...cheap), { minLength: 1, maxLength: 4, size: "max" }),
  });
  return fc.oneof({ weight: 15, arbitrary: single }, { weight: 1, arbitrary: batch }) as fc.Arbitrary<Spec>; // literals
}

/** Those that change something, without those that hash a password. */
export function changingOperations(operations: readonly Operation[]): Operation[] {
  return operations.filter(({ route, hashesPassword }) => route.type === "mutation" && !hashesPassword);
}

/** Mostly valid requests, from callers with good credentials: what refuses them is the state. */
export function plausibleSpecs(operations: readonly Operation[]): fc.Arbitrary<Spec> {
  return fc.record({
    caller: fc.constantFrom<Caller>(...goodCallers),
    transport: fc.constantFrom("rest", "rpc"),
    calls: fc.oneof(...operations.map((operation) => callsOf(operation, 0.9))).map((call) => [call]),
    body: fc.constant(null),
    target: fc.constant(null),
    header: fc.constant(null),
  });
}

function callsOf(operation: Operation, shareValid: number) {
  return inputsOf(operation, shareValid).map((input) => ({ operation, input }));
}

/** Builds the bytes of a request. */
export function buildRequest(spec: Spec, world: World): Request {
  const write = (entries: Entries) => writeObject(entries, world.resolve);
  const [first] = spec.calls;
  if (first === undefined) throw new Error("a request has at least one call");
  const built = spec.transport === "rest" ? restCall(first, world) : rpcCall(spec, write);
  const { method, target, isOdd } = changeTarget(spec.target, built.method, built.target);
  const { body, lines, chunked } = changeBody(spec.body, built.body);
  const credentials = Object.entries(world.credentialsOf(spec.caller));
  const all = [
    ["Host", new URL(world.url).host],
    ...credentials,
    ...lines,
    ...(spec.header === null ? [] : [spec.header]),
    ...(chunked ? [["Transfer-Encoding", "chunked"]] : body === null ? [] : [["Content-Length", String(body.length)]]),
  ];
  const head = `${method} ${target} HTTP/1.1\r\n${all.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`;
  const payload = body === null ? [] : chunked ? chunksOf(body) : [body];
  return {
    bytes: Buffer.concat([Buffer.from(head, "latin1"), ...payload]),
    method,
    calls: spec.calls.map(({ operation }) => operation),
    transport: spec.transport,
    isOdd,
  };
}

interface Built {
  method: string;
  target: string;
  body: Buffer | null;
}

/** Path parameters go into the path, the rest into the query or the body. */
function restCall({ operation: { route }, input }: Spec["calls"][number], world: World): Built {
  const inPath = new Map(input.filter(([name]) => route.pathParameters.includes(name)));
  const path = route.path.replace(
    /\{(\w+)\}/g,
    (_, name) => escaped(textOf(inPath.get(name), world)).slice(0, 6_000) || "x",
  );
  const others = input.filter((entry) => !inPath.has(entry[0]) || inPath.get(entry[0]) !== entry[1]);
  if (route.takesBody) {
    const body = others.length === 0 ? null : Buffer.from(writeObject(others, world.resolve));
    return { method: route.method, target: path, body };
  }
  // A longer path than the one above, or a query of more than 8 kB, would only test the limit of the headers.
  const query = others
    .map(([name, value]) => `${escaped(name)}=${escaped(textOf(value, world))}`)
    .join("&")
    .slice(0, 8_000);
  return { method: route.method, target: query === "" ? path : `${path}?${query}`, body: null };
}

function rpcCall({ transport, calls }: Spec, write: (entries: Entries) => string): Built {
  const names = calls.map(({ operation }) => operation.route.procedurePath).join(",");
  const texts = calls.map(({ input }) => write(input));
  const isBatch = transport === "batch";
  const text = isBatch ? `{${texts.map((one, index) => `"${index}":${one}`).join(",")}}` : (texts[0] ?? "{}");
  if (calls[0]?.operation.route.type === "query") {
    const input = escaped(text);
    const query = [isBatch ? "batch=1" : "", input.length > 8_000 ? "input=%7B%7D" : `input=${input}`];
    return { method: "GET", target: `/trpc/${names}?${query.filter((part) => part !== "").join("&")}`, body: null };
  }
  return { method: "POST", target: `/trpc/${names}${isBatch ? "?batch=1" : ""}`, body: Buffer.from(text) };
}

/** The same call over typed RPC, when the request is one over REST with a body and has not been tampered with. */
export function twinOf(spec: Spec): Spec | null {
  const untouched = spec.body === null && spec.target === null && spec.header === null;
  const [call] = spec.calls;
  if (spec.transport !== "rest" || !untouched || !call?.operation.route.takesBody) return null;
  const names = call.input.map(([name]) => name);
  // A name in the path and again in the body, or one that cannot be assigned, is refused before any input is read.
  const isSame = names.every(
    (name, index) => names.indexOf(name) === index && name !== "__proto__" && name !== "toJSON",
  );
  const ids = call.operation.route.pathParameters;
  return isSame && ids.every((name) => names.includes(name)) ? { ...spec, transport: "rpc" } : null;
}

/** The text of a value in a path or a query: plain for a string, JSON for anything else. */
function textOf(value: unknown, world: World): string {
  if (typeof value === "string") return value;
  if (value instanceof Known) return world.resolve(value);
  if (value instanceof RawJson) return value.text;
  return writeJson(value, world.resolve);
}

function escaped(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replaceAll("'", "%27");
}

function chunksOf(body: Buffer): Buffer[] {
  const chunks = [body.subarray(0, 1), body.subarray(1)].filter((chunk) => chunk.length > 0);
  return [
    ...chunks.map((chunk) =>
      Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from("\r\n")]),
    ),
    Buffer.from("0\r\n\r\n"),
  ];
}

/** The request as something to paste into a shell. */
export function reproduction({ bytes }: Pick<Request, "bytes">, port: number): string {
  if (bytes.length > 4_000) {
    return `${bytes.length} bytes: ${JSON.stringify(bytes.toString("latin1", 0, 1_500))}…`;
  }
  const printf = bytes.toString("latin1").replace(/[^\x20-\x7e]|[\\'%]/g, (one) => {
    return one === "%" ? "%%" : `\\x${one.charCodeAt(0).toString(16).padStart(2, "0")}`;
  });
  return `printf '${printf}' | nc -q 2 127.0.0.1 ${port}`;
}
