import { TRPCError } from "@trpc/server";
import { getHTTPStatusCodeFromError } from "@trpc/server/http";
import { type TRPC_ERROR_CODE_KEY, TRPC_ERROR_CODES_BY_KEY } from "@trpc/server/rpc";
import { z } from "zod";
import { ApiError, type ErrorCode, errorCatalogue, type InputIssue } from "./errors.ts";
import { ProcessorRefused, ProcessorUnavailable } from "./gateways/processorErrors.ts";
import { StorageUnavailable } from "./gateways/storage.ts";
import { isDatabaseAway } from "./store/databaseErrors.ts";

const rpcCodes = Object.keys(TRPC_ERROR_CODES_BY_KEY) as TRPC_ERROR_CODE_KEY[]; // the keys of a literal are its type's keys

/** tRPC's own table from codes to statuses, turned round; it has PARSE_ERROR before BAD_REQUEST, and the last one counts. */
const rpcCodeByStatus = new Map(
  rpcCodes.map((code) => [getHTTPStatusCodeFromError(new TRPCError({ code })), code] as const),
);

/** The code that tRPC has for an error's HTTP status. */
export function rpcCodeOf(code: ErrorCode): TRPC_ERROR_CODE_KEY {
  return rpcCodeByStatus.get(errorCatalogue[code].status) ?? "INTERNAL_SERVER_ERROR";
}

const codeOfRpc: Partial<Record<TRPC_ERROR_CODE_KEY, ErrorCode>> = {
  BAD_REQUEST: "invalid_input",
  PARSE_ERROR: "invalid_input",
  NOT_FOUND: "not_found",
  METHOD_NOT_SUPPORTED: "method_not_allowed",
  PAYLOAD_TOO_LARGE: "payload_too_large",
  UNSUPPORTED_MEDIA_TYPE: "unsupported_media_type",
};

/** More than this many problems help nobody, and an answer should not be larger than what caused it. */
const MAX_ISSUES = 100;

function issuesOf(error: z.core.$ZodError): InputIssue[] {
  const issues = error.issues.flatMap((issue) => {
    const path = issue.path.map(String);
    // An unknown field is named itself, not only the object that holds it.
    if (issue.code === "unrecognized_keys") {
      return issue.keys.map((key) => ({ path: [...path, key].join("."), message: "This field is not known here." }));
    }
    return [{ path: path.join("."), message: issue.message }];
  });
  return issues.slice(0, MAX_ISSUES);
}

/**
 * Translates whatever was thrown into an answer from the catalogue. `pathParameters` are the names that stand in the
 * REST path: an id there that is no UUID names nothing, which is 404 and not 400.
 */
export function toApiError(thrown: unknown, pathParameters: readonly string[] = []): ApiError {
  if (thrown instanceof ApiError) return thrown;
  if (isDatabaseAway(thrown) || thrown instanceof StorageUnavailable) return new ApiError("unavailable", {}, thrown);
  // A refusal is our mistake or a setting of our account at the processor: for the caller it is out of order either way.
  if (thrown instanceof ProcessorUnavailable || thrown instanceof ProcessorRefused) {
    return new ApiError("processor_unavailable", {}, thrown);
  }
  if (!(thrown instanceof TRPCError)) return new ApiError("internal_error", {}, thrown);
  const { cause } = thrown;
  if (cause instanceof ApiError) return cause;
  // tRPC wraps what a procedure throws; under any other code the cause is what tRPC itself could not read.
  if (thrown.code === "INTERNAL_SERVER_ERROR" && cause && !(cause instanceof z.core.$ZodError))
    return toApiError(cause);
  if (thrown.code === "BAD_REQUEST" && cause instanceof z.core.$ZodError) {
    const namesNothing = cause.issues.some(
      (issue) => issue.code === "invalid_format" && pathParameters.includes(String(issue.path[0])),
    );
    return namesNothing ? new ApiError("not_found") : new ApiError("invalid_input", { issues: issuesOf(cause) });
  }
  const code = codeOfRpc[thrown.code];
  if (code === "invalid_input") {
    return new ApiError(code, { issues: [{ path: "", message: "The request is malformed." }] }, thrown);
  }
  return new ApiError(code ?? "internal_error", {}, thrown);
}
