import { z } from "zod";
import { Approval } from "./schemas/approval.ts";
import { InputIssue } from "./schemas/inputIssue.ts";
import { type Scope, scopes } from "./schemas/scope.ts";

interface CatalogueEntry {
  readonly status: number;
  readonly message: string;
  /** The default of `ErrorDetails.retryAfterSeconds`. */
  readonly retryAfterSeconds?: number;
}

/**
 * Every error that the service can return: code, HTTP status and the message for people. A code that is not in this table
 * does not compile. Source: docs/contract.md "Errors".
 */
export const errorCatalogue = {
  invalid_input: { status: 400, message: "The input is not valid; see `issues`." },
  budget_locked_by_bids: { status: 400, message: "The budget cannot change while the task has active bids." },
  revisions_locked_by_bids: {
    status: 400,
    message: "The number of revisions cannot change while the task has active bids.",
  },
  checks_locked_by_bids: { status: 400, message: "The checks cannot change while the task has active bids." },
  price_above_budget: { status: 400, message: "The price is above the task's maximum budget." },
  sample_too_large: { status: 400, message: "The sample exceeds the limits; see `violations`." },
  delivery_too_large: { status: 400, message: "The delivery exceeds the limits; see `violations`." },
  file_too_large: { status: 400, message: "The file exceeds the limits; see `violations`." },
  invalid_token: { status: 400, message: "The link is wrong, was used already, or has expired. Ask for a new one." },
  invalid_url: { status: 400, message: "The URL must be a public HTTPS address." },
  unauthenticated: { status: 401, message: "Sign in, or send a valid API key as a bearer token." },
  invalid_credentials: { status: 401, message: "The email address or the password is wrong." },
  second_factor_required: {
    status: 401,
    message:
      "Send `code` too: the current six digits of your authenticator, which work once, or one of your recovery codes.",
  },
  insufficient_funds: { status: 402, message: "The wallet's available balance is too low." },
  ledger_failed: { status: 402, message: "The ledger refused the movement." },
  forbidden: { status: 403, message: "You are not allowed to do this." },
  missing_scope: { status: 403, message: "The API key lacks the scope in `requiredScope`." },
  spend_limit: {
    status: 403,
    message: "This is more than the API key may still spend; see `limitCents` and `spentCents`.",
  },
  approval_required: {
    status: 403,
    message:
      "The owner of the API key must approve this; see `approval`. Wait for the event `approval.decided`, then repeat the request with the same `Idempotency-Key` to get its answer.",
  },
  approval_declined: {
    status: 403,
    message: "The owner of the API key has said no to exactly this; see `approval.reason`. Do something else.",
  },
  not_found: { status: 404, message: "Not found." },
  method_not_allowed: { status: 405, message: "This path does not support the method; see the `Allow` header." },
  wrong_status: { status: 409, message: "The status of the task or bid does not allow this." },
  bid_invalid: { status: 409, message: "The bid is not active, or it belongs to another task." },
  active_bid_exists: { status: 409, message: "You already have an active bid on this task." },
  email_taken: { status: 409, message: "An account with this email address already exists." },
  not_needed: { status: 409, message: "Your wallet has enough for the task: post it with POST /tasks." },
  limit_reached: { status: 409, message: "You have as many of these as a user may have; see `limit`." },
  agreement_pending: {
    status: 409,
    message: "One side has proposed something that the other has not answered yet; see `agreementId`.",
  },
  already_rated: { status: 409, message: "You have already rated this task." },
  no_revisions_left: {
    status: 409,
    message: "You have asked for changes as often as the task allows; see `revisions`.",
  },
  already_disputed: { status: 409, message: "This task already has a dispute." },
  second_factor_exists: {
    status: 409,
    message: "You already have a second factor. To set up another one, remove it first: DELETE /auth/totp.",
  },
  account_in_use: { status: 409, message: "The account cannot be closed yet; `open` says why." },
  bid_changed: { status: 409, message: "The bid's price is no longer the expected one; see `priceCents`." },
  approval_changed: {
    status: 409,
    message: "Nothing was done, because something has changed since you looked; see `approval`.",
  },
  idempotency_conflict: {
    status: 409,
    message: "This `Idempotency-Key` was used for another operation or with other input. Use a new key.",
  },
  cursor_expired: {
    status: 410,
    message: "The event at this cursor is no longer kept, or was lost in a failover or restore. Begin without `after`.",
  },
  onboarding_required: { status: 412, message: "Start the payout onboarding first: POST /payouts/onboarding." },
  onboarding_incomplete: {
    status: 412,
    message: "Finish the onboarding first: POST /payouts/onboarding returns a link.",
  },
  payload_too_large: { status: 413, message: "The body must be at most 256 KiB." },
  unsupported_media_type: { status: 415, message: "Send the body as JSON, with `Content-Type: application/json`." },
  rate_limited: { status: 429, message: "Too many requests. Try again after the seconds in `Retry-After`." },
  spam_guard: { status: 429, message: "Too many new tasks, or too many with the same text; see `Retry-After`." },
  internal_error: { status: 500, message: "Something went wrong on our side. Quote the `requestId` to report it." },
  processor_unavailable: { status: 502, message: "The payment processor does not respond. Try again later." },
  unavailable: {
    status: 503,
    message: "The service is busy or restarting. Try again after the seconds in `Retry-After`.",
    retryAfterSeconds: 2,
  },
} as const satisfies Record<string, CatalogueEntry>;

export type ErrorCode = keyof typeof errorCatalogue;

const errorCodes = Object.keys(errorCatalogue) as [ErrorCode, ...ErrorCode[]];

/** Maximum number of issues in one error. Source: docs/contract.md "Errors". */
export const MAX_ISSUES = 100;

/**
 * Maximum size of all issues in one response, in bytes of JSON, so that a small request cannot cause a large response: an
 * error body stays under 16 kB, and so does a failed tRPC batch. Source: docs/contract.md "Errors".
 */
const MAX_ISSUES_BYTES = 14_000;
/** What an error has beside its issues, at most, in bytes of JSON over tRPC. */
const ENVELOPE_BYTES = 400;

/** Returns the first issues that fit into a response with the results of `calls` calls, and at least one. */
function fittingIssues(issues: readonly InputIssue[], calls: number): InputIssue[] {
  let rest = (MAX_ISSUES_BYTES + ENVELOPE_BYTES) / calls - ENVELOPE_BYTES;
  return issues.slice(0, MAX_ISSUES).filter((issue, index) => {
    rest -= Buffer.byteLength(JSON.stringify(issue)) + 1;
    return rest >= 0 || index === 0;
  });
}

/** A limit that an upload exceeds, and the declared value. */
export interface LimitViolation {
  field: string;
  limit: number;
  actual: number;
}

const openMatters = ["tasks", "awards", "bids", "disputes", "topups", "payouts", "available", "held", "debt"] as const;

/** Something that keeps an account from being closed. */
const OpenMatter = z
  .object({
    kind: z.enum(openMatters).meta({
      description:
        "`tasks`: that you posted and that are not finished. `awards`: tasks that you were awarded and that are not finished. " +
        "`bids`: active ones. `disputes`: undecided ones. `topups` and `payouts`: under way. `available`, `held`, `debt`: money.",
    }),
    count: z.int32().optional().meta({ description: "How many there are." }),
    ids: z.array(z.uuid()).optional().meta({ description: "The oldest ten." }),
    cents: z.int().optional().meta({ description: "Of money: how much, in integer cents." }),
  })
  .meta({ id: "OpenMatter", description: "Something that keeps an account from being closed." });
export type OpenMatter = z.infer<typeof OpenMatter>;

/** The optional fields of an error body, and `retryAfterSeconds`, which becomes the `Retry-After` header. */
export interface ErrorDetails {
  message?: string;
  issues?: InputIssue[];
  violations?: LimitViolation[];
  requiredScope?: Scope;
  id?: string;
  bidId?: string;
  agreementId?: string;
  priceCents?: number;
  neededCents?: number;
  availableCents?: number;
  limitCents?: number;
  spentCents?: number;
  /** How many a user may have, for `limit_reached`. */
  limit?: number;
  taskId?: string;
  /** What was asked or decided; null in a dry run. */
  approval?: Partial<Approval> | ApprovalLink | null;
  amountCents?: number;
  aboveCents?: number;
  open?: OpenMatter[];
  retryAfterSeconds?: number;
}

const Violation = z
  .object({
    field: z.string().meta({ description: "The field of the input." }),
    limit: z.number().meta({ description: "The most that is allowed." }),
    actual: z.number().meta({ description: "What was declared." }),
  })
  .meta({ id: "LimitViolation", description: "A limit that an upload exceeds." });

const cents = z.int();

/** Where the owner of a key answers. */
export interface ApprovalLink {
  id: string;
  url: string;
  expiresAt: string;
}

const ErrorApproval = Approval.partial()
  .extend({
    url: z.string().optional().meta({ description: "With `approval_required`: the page on which the owner answers." }),
  })
  .meta({
    id: "ErrorApproval",
    description:
      "With `approval_required`: `id`, `url` and `expiresAt`. With `approval_declined`: `id` and `reason`. With `approval_changed`: the whole approval, as it is now.",
  });

/** The body of every error over REST; `error.data` over tRPC. */
export const ErrorBody = z
  .object({
    error: z.enum(errorCodes).meta({ description: "A stable code to program against." }),
    message: z.string().meta({ description: "What is wrong and what to do, for people. It may change." }),
    requestId: z
      .string()
      .meta({ description: "Quote it to report a problem. It is also in the header `X-Request-Id`." }),
    issues: z.array(InputIssue).optional().meta({ description: "With `invalid_input`: up to 100 problems." }),
    violations: z.array(Violation).optional().meta({
      description:
        "With `sample_too_large`, `delivery_too_large` and `file_too_large`: every limit that is exceeded. With `limit_reached`: the bytes that you may have.",
    }),
    requiredScope: z
      .enum(scopes)
      .optional()
      .meta({ description: "With `missing_scope`: the scope that the API key lacks." }),
    id: z.uuid().optional().meta({ description: "What an earlier request with the same `Idempotency-Key` created." }),
    bidId: z.uuid().optional().meta({ description: "With `active_bid_exists`: the active bid." }),
    agreementId: z.uuid().optional().meta({ description: "With `agreement_pending`: the pending agreement." }),
    priceCents: cents.optional().meta({ description: "With `bid_changed`: the bid's price now, in integer cents." }),
    neededCents: cents.optional().meta({ description: "What the operation takes from the wallet, in integer cents." }),
    availableCents: cents.optional().meta({ description: "What your wallet has available, in integer cents." }),
    limitCents: cents.optional().meta({ description: "What the API key may spend in a period, in integer cents." }),
    spentCents: cents.optional().meta({ description: "What the API key has spent in this period, in integer cents." }),
    limit: z.int32().optional().meta({ description: "With `limit_reached`: how many you may have." }),
    taskId: z.uuid().optional().meta({
      description: "With `spam_guard`, for a task that was posted too often: the newest one with the same text.",
    }),
    approval: ErrorApproval.nullable().optional().meta({
      description: "What the owner of the API key was asked; null in a dry run, which asks nobody.",
    }),
    amountCents: cents.optional().meta({ description: "With `approval_required` in a dry run: what it comes to." }),
    aboveCents: cents
      .optional()
      .meta({ description: "With `approval_required` in a dry run: what the key may do alone." }),
    open: z.array(OpenMatter).optional().meta({ description: "With `account_in_use`: what must be finished first." }),
  })
  .meta({ id: "ApiError", description: "The body of every error." });
export type ErrorBody = z.infer<typeof ErrorBody>;

/** An error from the catalogue, to be thrown anywhere in a request. Clients see its message and details, not its cause. */
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

  /** Whether this is our own refusal under load, and not a failure of anything. */
  get isOverload(): boolean {
    return this.code === "unavailable" && this.cause === undefined;
  }

  /** The value of the `Retry-After` header; undefined for an error that waiting does not help. */
  get retryAfterSeconds(): number | undefined {
    const entry: CatalogueEntry = errorCatalogue[this.code];
    return this.details.retryAfterSeconds ?? entry.retryAfterSeconds;
  }

  /** Returns the body that clients see, as one of `calls` results in the response. */
  toBody(requestId: string, calls = 1): ErrorBody {
    const { message: _, retryAfterSeconds: __, issues, ...extras } = this.details;
    return {
      error: this.code,
      message: this.message,
      requestId,
      ...(issues && { issues: fittingIssues(issues, calls) }),
      ...extras,
    };
  }
}
