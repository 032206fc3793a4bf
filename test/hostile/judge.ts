import type { ValidateFunction } from "ajv/dist/2020.js";
import { type ErrorCode, errorCatalogue } from "../../server/errors.ts";
import type { Contract, Operation } from "./document.ts";
import type { Request } from "./requests.ts";
import { isStream, type Outcome, type WireResponse } from "./wire.ts";

/** A broken promise: `what` names its kind, so that many of one kind are reported once. */
export interface Fault {
  what: string;
  detail: string;
}

const MAX_ERROR_BYTES = 16 * 1024;

/** What must never be in a response. */
const internals =
  /node_modules|\.ts:\d|\n\s+at |prisma|postgres|graphile|zodError|TRPCError|<html|<!doctype|\bpg_|relation "/i;

/** Over RPC every mutation has a body, also one that is a DELETE over REST and whose document has no such errors. */
const bodyErrors = new Set<ErrorCode>(["payload_too_large", "unsupported_media_type"]);

type Body = Record<string, unknown>;
const isObject = (value: unknown): value is Body =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns what is wrong with the outcome of a request, or null. */
export function judge(contract: Contract, request: Request, outcome: Outcome): Fault | null {
  if (outcome.kind === "closed") return { what: "closed without a response", detail: "" };
  if (outcome.kind === "silent") return { what: "no response in time", detail: "" };
  if (outcome.kind === "broken") return { what: "the response is not HTTP", detail: outcome.why };
  const { response } = outcome;
  const { status } = response;
  if (status >= 500) return { what: `status ${status}`, detail: excerpt(response) };
  if (request.method === "HEAD") return null;
  if (isStream(response.headers)) {
    const isExpected = status === 200 && request.calls.length === 1 && request.calls[0]?.route.type === "subscription";
    return isExpected ? null : { what: `${status}: a stream`, detail: "" };
  }
  if (request.transport === "rest") return judgeRest(contract, request, response);
  return judgeRpc(contract, request, response);
}

function judgeRest(contract: Contract, { calls: [operation], isOdd }: Request, response: WireResponse): Fault | null {
  const { status } = response;
  const fault = (what: string, detail = "") => ({
    what: `REST ${status}: ${what}`,
    detail: `${detail} ${excerpt(response)}`,
  });
  if (!operation) throw new Error("a REST request has an operation");
  if (status === 204) return response.body.length > 0 ? fault("a body") : success(operation, status, null, fault);
  const body = parseBody(response);
  if (body === undefined) return fault("not JSON");
  if (status < 400) return isOdd && status !== operation.route.status ? null : success(operation, status, body, fault);
  return errorFault(contract, isOdd ? null : operation, status, body, response, fault);
}

type Report = (what: string, detail?: string) => Fault;

function success({ route, responses }: Operation, status: number, body: unknown, fault: Report): Fault | null {
  if (status !== route.status) return fault("not the documented status of a success");
  const validate = responses.get(status);
  if (!validate || validate(body)) return null;
  return fault(`${route.procedurePath}: not as documented`, explain(validate));
}

/** Judges an error of one operation, over either transport. Null stands for a target that is no operation's. */
function errorFault(
  { isError }: Contract,
  operation: Operation | null,
  status: number,
  body: unknown,
  response: WireResponse | null,
  fault: Report,
  isRpc = false,
): Fault | null {
  if (!isObject(body) || !isError(body)) return fault("not an error's body", explain(isError));
  const code = body.error as ErrorCode; // validated above
  if (errorCatalogue[code].status !== status) return fault(`${code} with this status`);
  const text = JSON.stringify(body);
  if (Buffer.byteLength(text) > MAX_ERROR_BYTES) return fault(`${code}: a body over 16 kB`);
  if (internals.test(text)) return fault(`${code}: names something internal`);
  // The document says that every path can answer with this one.
  const isGeneral = code === "method_not_allowed" || (isRpc && bodyErrors.has(code));
  const documented = operation?.responses.get(status);
  if (operation !== null && !isGeneral && !documented?.(body)) {
    return fault(`${operation.route.procedurePath}: ${code} is not documented`, documented ? explain(documented) : "");
  }
  return response && headerFault(response, code, body, fault);
}

/** The headers that belong to an error. In a batch they can say nothing about a single call. */
function headerFault({ headers, status }: WireResponse, code: ErrorCode, body: Body, fault: Report): Fault | null {
  if (headers.get("x-request-id") !== body.requestId) return fault("X-Request-Id is not the body's `requestId`");
  if (status === 405 && !headers.get("allow")) return fault("no Allow header");
  if (status === 429 && !/^[1-9]\d*$/.test(headers.get("retry-after") ?? "")) return fault(`${code}: no Retry-After`);
  return null;
}

function judgeRpc(contract: Contract, { calls, transport, isOdd }: Request, response: WireResponse): Fault | null {
  const { status } = response;
  const fault = (what: string, detail = "") => ({
    what: `RPC ${status}: ${what}`,
    detail: `${detail} ${excerpt(response)}`,
  });
  const body = parseBody(response);
  if (body === undefined) return fault("not JSON");
  if (!Array.isArray(body)) {
    if (isOdd && isObject(body) && "message" in body) return errorFault(contract, null, status, body, response, fault);
    const statusOfCall = callFault(
      contract,
      transport === "rpc" ? (calls[0] ?? null) : null,
      body,
      isOdd,
      response,
      fault,
    );
    if (typeof statusOfCall !== "number") return statusOfCall;
    if (transport === "batch" && status < 400 && !isOdd) return fault("a batch without a list");
    return status === statusOfCall ? null : fault(`the call's error has the status ${statusOfCall}`);
  }
  if (transport !== "batch" && !isOdd) return fault("a list");
  if (transport === "batch" && !isOdd && body.length !== calls.length) return fault("not a result for each call");
  const statuses = new Set<number>();
  for (const [index, item] of body.entries()) {
    const statusOfCall = callFault(contract, calls[index] ?? null, item, isOdd, null, fault);
    if (typeof statusOfCall !== "number") return statusOfCall;
    statuses.add(statusOfCall);
  }
  const [common = 200] = statuses;
  const expected = statuses.size > 1 ? 207 : common;
  return status === expected ? null : fault(`a batch with the statuses ${[...statuses].sort().join(", ")}`);
}

/** Returns the status of one call, 200 for a success, or what is wrong with it. */
function callFault(
  contract: Contract,
  operation: Operation | null,
  item: unknown,
  isOdd: boolean,
  response: WireResponse | null,
  fault: Report,
): number | Fault {
  if (!isObject(item)) return fault("not a call's result");
  if (isObject(item.error)) {
    const { data, message, code, ...more } = item.error;
    if (typeof message !== "string" || typeof code !== "number" || Object.keys(more).length > 0) {
      return fault("not the shape of a failed call");
    }
    const status = isObject(data) ? errorCatalogue[data.error as ErrorCode]?.status : undefined;
    if (status === undefined) return fault("the failed call has no code of the catalogue");
    if (status >= 500) return fault(`a call failed with ${status}`);
    return errorFault(contract, isOdd ? null : operation, status, data, response, fault, true) ?? status;
  }
  const { result } = item;
  if (!isObject(result) || Object.keys(item).length !== 1) return fault("neither a result nor an error");
  if (operation === null || isOdd) return 200;
  const { route } = operation;
  const problem = route.status === 204 ? null : success(operation, route.status, result.data, fault);
  return problem ?? 200;
}

function parseBody({ headers, body }: WireResponse): unknown {
  if (!/^application\/json\b/.test(headers.get("content-type") ?? "")) return undefined;
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    return undefined;
  }
}

/** Judges a response to bytes that need not be a request at all: any error of the catalogue, or a success. */
export function judgeAnyResponse(contract: Contract, response: WireResponse): Fault | null {
  const { status } = response;
  const fault = (what: string, detail = "") => ({
    what: `raw ${status}: ${what}`,
    detail: `${detail} ${excerpt(response)}`,
  });
  if (status >= 500) return fault("a failure");
  if (status < 400) return null;
  const body = parseBody(response);
  if (body === undefined) return fault("not JSON");
  const data = isObject(body) && isObject(body.error) ? body.error.data : body;
  return errorFault(contract, null, status, data, response, fault);
}

/** True if the request may have changed something: a mutation, or a call of a batch, that did not fail. */
export function mayHaveChanged({ calls, transport, method }: Request, outcome: Outcome): boolean {
  const changing = calls.some((operation) => operation?.route.type === "mutation");
  if (!changing || method === "HEAD") return false;
  if (outcome.kind !== "answered") return true;
  const { status, body } = outcome.response;
  return status < 400 || (transport === "batch" && body.includes('"result"'));
}

function explain({ errors }: ValidateFunction): string {
  return (errors ?? [])
    .map(({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`)
    .join("; ");
}

function excerpt({ body, headers }: WireResponse): string {
  return `${headers.get("content-type")} ${body.length} bytes: ${body.toString("utf8", 0, 400)}`;
}
