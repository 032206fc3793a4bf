import { z } from "zod";

interface CatalogueEntry {
  readonly status: number;
  readonly message: string;
}

/**
 * Every error that the service can answer with: code, HTTP status, and the message for a person.
 * Source: interface.md "Errors" and decisions.md "Auth". A code outside this table does not compile.
 */
export const errorCatalogue = {
  invalid_input: { status: 400, message: "The input is not valid; see `issues`." },
  budget_locked_by_bids: {
    status: 400,
    message: "The budget cannot change while the task has an active bid.",
  },
  price_above_budget: { status: 400, message: "The price is above the task's maximum budget." },
  sample_too_large: { status: 400, message: "The sample exceeds the limits; see `violations`." },
  delivery_too_large: {
    status: 400,
    message: "The delivery exceeds the limits; see `violations`.",
  },
  invalid_url: { status: 400, message: "The URL must be a public HTTPS address." },
  unauthenticated: { status: 401, message: "Sign in, or send a valid API key as a bearer token." },
  invalid_credentials: { status: 401, message: "The email or the password is wrong." },
  insufficient_funds: { status: 402, message: "The wallet's available balance is too low." },
  ledger_failed: { status: 402, message: "The ledger refused the movement." },
  forbidden: { status: 403, message: "You may not do this." },
  missing_scope: { status: 403, message: "The API key lacks the scope in `requiredScope`." },
  not_found: { status: 404, message: "There is nothing here." },
  method_not_allowed: {
    status: 405,
    message: "This path does not take that method; see the `Allow` header.",
  },
  wrong_status: { status: 409, message: "The task or bid is not in the status that this needs." },
  bid_invalid: { status: 409, message: "The bid is not active, or belongs to another task." },
  active_bid_exists: { status: 409, message: "You already have an active bid on this task." },
  email_taken: { status: 409, message: "An account with this email exists already." },
  already_rated: { status: 409, message: "You have rated this task already." },
  already_disputed: { status: 409, message: "This task has a dispute already." },
  onboarding_required: {
    status: 412,
    message: "Start the payout onboarding first: POST /payouts/onboarding.",
  },
  onboarding_incomplete: {
    status: 412,
    message: "Finish the payout onboarding first: POST /payouts/onboarding gives a new link.",
  },
  payload_too_large: { status: 413, message: "The body may have at most 256 KiB." },
  unsupported_media_type: {
    status: 415,
    message: "Send the body as JSON, with `Content-Type: application/json`.",
  },
  rate_limited: { status: 429, message: "Too many requests; wait as `Retry-After` says." },
  spam_guard: {
    status: 429,
    message: "Too many new tasks, or one like this is still open; wait as `Retry-After` says.",
  },
  internal_error: {
    status: 500,
    message: "Something went wrong on our side; quote the `requestId` when you ask about it.",
  },
  processor_unavailable: {
    status: 502,
    message: "The payment processor does not answer; try again later.",
  },
  unavailable: { status: 503, message: "The service is busy or restarting; try again." },
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
