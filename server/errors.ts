import { TRPCError } from "@trpc/server";
import type { TRPC_ERROR_CODE_KEY } from "@trpc/server/rpc";
import { z } from "zod";
import { isDatabaseAway } from "./db/databaseErrors.ts";
import { StorageUnavailable } from "./gateways/storage.ts";

interface CatalogueEntry {
  readonly status: number;
  readonly rpc: TRPC_ERROR_CODE_KEY;
  readonly message: string;
}

/**
 * Every error that the service can answer with: code, HTTP status, tRPC code, and what a person is told.
 * Source: interface.md "Errors" and decisions.md "Auth". A code outside this table does not compile.
 */
export const errorCatalogue = {
  invalid_input: { status: 400, rpc: "BAD_REQUEST", message: "The input is not valid; see `issues`." },
  budget_locked_by_bids: {
    status: 400,
    rpc: "BAD_REQUEST",
    message: "The budget cannot change while the task has an active bid.",
  },
  price_above_budget: { status: 400, rpc: "BAD_REQUEST", message: "The price is above the task's maximum budget." },
  sample_too_large: { status: 400, rpc: "BAD_REQUEST", message: "The sample exceeds the limits; see `violations`." },
  delivery_too_large: {
    status: 400,
    rpc: "BAD_REQUEST",
    message: "The delivery exceeds the limits; see `violations`.",
  },
  invalid_url: { status: 400, rpc: "BAD_REQUEST", message: "The URL must be a public HTTPS address." },
  unauthenticated: { status: 401, rpc: "UNAUTHORIZED", message: "Sign in, or send a valid API key as a bearer token." },
  invalid_credentials: { status: 401, rpc: "UNAUTHORIZED", message: "The email or the password is wrong." },
  insufficient_funds: { status: 402, rpc: "PAYMENT_REQUIRED", message: "The wallet's available balance is too low." },
  ledger_failed: { status: 402, rpc: "PAYMENT_REQUIRED", message: "The ledger refused the movement." },
  forbidden: { status: 403, rpc: "FORBIDDEN", message: "You may not do this." },
  missing_scope: { status: 403, rpc: "FORBIDDEN", message: "The API key lacks the scope in `requiredScope`." },
  not_found: { status: 404, rpc: "NOT_FOUND", message: "There is nothing here." },
  method_not_allowed: {
    status: 405,
    rpc: "METHOD_NOT_SUPPORTED",
    message: "This path does not take that method; see the `Allow` header.",
  },
  wrong_status: { status: 409, rpc: "CONFLICT", message: "The task or bid is not in the status that this needs." },
  bid_invalid: { status: 409, rpc: "CONFLICT", message: "The bid is not active, or belongs to another task." },
  active_bid_exists: { status: 409, rpc: "CONFLICT", message: "You already have an active bid on this task." },
  email_taken: { status: 409, rpc: "CONFLICT", message: "An account with this email exists already." },
  already_rated: { status: 409, rpc: "CONFLICT", message: "You have rated this task already." },
  already_disputed: { status: 409, rpc: "CONFLICT", message: "This task has a dispute already." },
  onboarding_required: {
    status: 412,
    rpc: "PRECONDITION_FAILED",
    message: "Start the payout onboarding first: POST /payouts/onboarding.",
  },
  onboarding_incomplete: {
    status: 412,
    rpc: "PRECONDITION_FAILED",
    message: "Finish the payout onboarding first: POST /payouts/onboarding gives a new link.",
  },
  payload_too_large: { status: 413, rpc: "PAYLOAD_TOO_LARGE", message: "The body may have at most 256 KiB." },
  unsupported_media_type: {
    status: 415,
    rpc: "UNSUPPORTED_MEDIA_TYPE",
    message: "Send the body as JSON, with `Content-Type: application/json`.",
  },
  rate_limited: { status: 429, rpc: "TOO_MANY_REQUESTS", message: "Too many requests; wait as `Retry-After` says." },
  spam_guard: {
    status: 429,
    rpc: "TOO_MANY_REQUESTS",
    message: "Too many new tasks, or one like this is still open; wait as `Retry-After` says.",
  },
  internal_error: {
    status: 500,
    rpc: "INTERNAL_SERVER_ERROR",
    message: "Something went wrong on our side; quote the `requestId` when you ask about it.",
  },
  processor_unavailable: {
    status: 502,
    rpc: "BAD_GATEWAY",
    message: "The payment processor does not answer; try again later.",
  },
  unavailable: { status: 503, rpc: "SERVICE_UNAVAILABLE", message: "The service is busy or restarting; try again." },
} as const satisfies Record<string, CatalogueEntry>;

export type ErrorCode = keyof typeof errorCatalogue;

export const errorCodes = Object.keys(errorCatalogue) as [ErrorCode, ...ErrorCode[]];

/** One field that failed validation: `path` names it with dots, "" the whole input. */
export interface InputIssue {
  path: string;
  message: string;
}

/** A limit that an upload exceeds, with what was asked for. */
export interface LimitViolation {
  field: string;
  limit: number;
  actual: number;
}

/** The documented extras of an error body, and `retryAfterSeconds`, which becomes the `Retry-After` header. */
export interface ErrorDetails {
  message?: string;
  issues?: InputIssue[];
  violations?: LimitViolation[];
  requiredScope?: string;
  retryAfterSeconds?: number;
}

/** The body of every error, over REST, and `error.data` over typed RPC. */
export const ErrorBody = z.object({
  error: z.enum(errorCodes),
  message: z.string(),
  requestId: z.string(),
  issues: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
  violations: z.array(z.object({ field: z.string(), limit: z.number(), actual: z.number() })).optional(),
  requiredScope: z.string().optional(),
});
export type ErrorBody = z.infer<typeof ErrorBody>;

/** An answer from the catalogue; `details` are its documented extras. Its message is public. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, details: ErrorDetails = {}, cause?: unknown) {
    super(details.message ?? errorCatalogue[code].message, { cause });
    this.code = code;
    this.details = details;
  }

  get status(): number {
    return errorCatalogue[this.code].status;
  }

  toBody(requestId: string): ErrorBody {
    const { issues, violations, requiredScope } = this.details;
    return {
      error: this.code,
      message: this.message,
      requestId,
      ...(issues && { issues }),
      ...(violations && { violations }),
      ...(requiredScope && { requiredScope }),
    };
  }
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
