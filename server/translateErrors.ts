import { TRPCError } from "@trpc/server";
import { getHTTPStatusCodeFromError } from "@trpc/server/http";
import { type TRPC_ERROR_CODE_KEY, TRPC_ERROR_CODES_BY_KEY } from "@trpc/server/rpc";
import { z } from "zod";
import { ApiError, type ErrorCode, errorCatalogue, MAX_ISSUES } from "./errors.ts";
import { ProcessorRefused, ProcessorUnavailable } from "./gateways/processorErrors.ts";
import { StorageUnavailable } from "./gateways/storageErrors.ts";
import type { InputIssue } from "./schemas/inputIssue.ts";
import { shortName } from "./schemas/messages.ts";
import { isDatabaseUnavailable } from "./store/databaseErrors.ts";

const rpcCodes = Object.keys(TRPC_ERROR_CODES_BY_KEY) as TRPC_ERROR_CODE_KEY[]; // the keys of a literal are its type's keys

/** tRPC's own table of codes and statuses, inverted. Of the two codes for 400, PARSE_ERROR and BAD_REQUEST, the last wins. */
const rpcCodeByStatus = new Map(
  rpcCodes.map((code) => [getHTTPStatusCodeFromError(new TRPCError({ code })), code] as const),
);

/** Returns tRPC's code for the HTTP status of an error. It has none for 410; clients repeat what has an unknown code. */
export function rpcCodeOf(code: ErrorCode): TRPC_ERROR_CODE_KEY {
  if (code === "cursor_expired") return "PRECONDITION_FAILED";
  return rpcCodeByStatus.get(errorCatalogue[code].status) ?? "INTERNAL_SERVER_ERROR";
}

const codeByRpcCode: Partial<Record<TRPC_ERROR_CODE_KEY, ErrorCode>> = {
  BAD_REQUEST: "invalid_input",
  PARSE_ERROR: "invalid_input",
  NOT_FOUND: "not_found",
  METHOD_NOT_SUPPORTED: "method_not_allowed",
  PAYLOAD_TOO_LARGE: "payload_too_large",
  UNSUPPORTED_MEDIA_TYPE: "unsupported_media_type",
};

/** The messages come from schemas/messages.ts. A number can fail two checks with the same message, which is listed once. */
function issuesOf(error: z.core.$ZodError): InputIssue[] {
  const issues = error.issues.slice(0, MAX_ISSUES).flatMap((issue) => {
    const path = issue.path.map(String);
    const { message } = issue;
    // The path names the unknown field itself, not only the object that holds it.
    if (issue.code === "unrecognized_keys") {
      return issue.keys.slice(0, MAX_ISSUES).map((key) => ({ path: [...path, shortName(key)].join("."), message }));
    }
    return [{ path: path.join("."), message }];
  });
  return [...new Map(issues.map((issue) => [JSON.stringify(issue), issue])).values()];
}

/**
 * Translates whatever was thrown into an error from the catalogue. `pathParameters` are the fields in the REST path: if one
 * is not a UUID, no such record can exist, so the error is `not_found` and not `invalid_input`.
 */
export function toApiError(thrown: unknown, pathParameters: readonly string[] = []): ApiError {
  if (thrown instanceof ApiError) return thrown;
  if (isDatabaseUnavailable(thrown) || thrown instanceof StorageUnavailable)
    return new ApiError("unavailable", {}, thrown);
  // A refusal is our mistake or a setting of our account at the processor. The caller cannot tell it from an outage.
  if (thrown instanceof ProcessorUnavailable || thrown instanceof ProcessorRefused) {
    return new ApiError("processor_unavailable", {}, thrown);
  }
  if (!(thrown instanceof TRPCError)) return new ApiError("internal_error", {}, thrown);
  const { cause } = thrown;
  if (cause instanceof ApiError) return cause;
  // tRPC wraps whatever a procedure throws in this code. Any other code means that tRPC itself refused the request.
  if (thrown.code === "INTERNAL_SERVER_ERROR" && cause && !(cause instanceof z.core.$ZodError))
    return toApiError(cause);
  if (thrown.code === "BAD_REQUEST" && cause instanceof z.core.$ZodError) {
    const cannotExist = cause.issues.some(
      (issue) => issue.code === "invalid_format" && pathParameters.includes(String(issue.path[0])),
    );
    return cannotExist ? new ApiError("not_found") : new ApiError("invalid_input", { issues: issuesOf(cause) });
  }
  const code = codeByRpcCode[thrown.code];
  if (code === "invalid_input") {
    return new ApiError(
      code,
      { issues: [{ path: "", message: "The request is malformed: it does not follow the tRPC protocol." }] },
      thrown,
    );
  }
  return new ApiError(code ?? "internal_error", {}, thrown);
}
