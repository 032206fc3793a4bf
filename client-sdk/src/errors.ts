import { errorCodes } from "./generated/errorCodes.ts";
import type { ApiError, ErrorCode, ErrorCodes } from "./generated/types.ts";

/** Not from the service: an answer that has no code that this version knows. `message` and `body` say more. */
type Unexpected = "unexpected_response";

/** What was answered, as far as an error tells it. */
export interface ErrorAnswer {
  status: number;
  headers: Headers;
  /** Parsed if it was JSON, otherwise the text. */
  body: unknown;
}

/**
 * The service refused or failed to do what was asked. There is a subclass for each status. Each method's documentation has the
 * codes that are its own; any call can also be refused with `invalid_input` (400), `payload_too_large` (413),
 * `unsupported_media_type` (415), `rate_limited` (429), `internal_error` (500) or `unavailable` (503).
 */
export class RebidError extends Error {
  override readonly name: string = "RebidError";
  /** The HTTP status. */
  readonly status: number;
  /** A stable code to program against. */
  readonly code: ErrorCode | Unexpected;
  /** What is wrong with the input, field by field. */
  readonly issues: NonNullable<ApiError["issues"]>;
  /** Quote it to report a problem. */
  readonly requestId: string | undefined;
  /** Seconds after which the same request may succeed. */
  readonly retryAfter: number | undefined;
  /** The body as it came: parsed if it was JSON, otherwise the text. */
  readonly body: unknown;

  /** The limits that an upload exceeds. */
  readonly violations: ApiError["violations"];
  /** With `missing_scope`: the scope that the API key lacks. */
  readonly requiredScope: ApiError["requiredScope"];
  /** With `idempotency_conflict`: what the first request created, if its answer had a secret. */
  readonly id: ApiError["id"];
  /** With `active_bid_exists`: that bid. */
  readonly bidId: ApiError["bidId"];
  /** With `agreement_pending`: that agreement. */
  readonly agreementId: ApiError["agreementId"];
  /** With `bid_changed`: the bid's price now. */
  readonly priceCents: ApiError["priceCents"];
  /** With 402: what the operation takes from the wallet. */
  readonly neededCents: ApiError["neededCents"];
  /** With 402: what the wallet has available. */
  readonly availableCents: ApiError["availableCents"];
  /** With `spend_limit`: what the API key may spend in a period. */
  readonly limitCents: ApiError["limitCents"];
  /** With `spend_limit`: what it has spent in the current one. */
  readonly spentCents: ApiError["spentCents"];
  /** With `limit_reached`: how many a user may have. */
  readonly limit: ApiError["limit"];
  /** With `spam_guard`: the newest task with the same text. */
  readonly taskId: ApiError["taskId"];
  /** With `approval_required`: where a person answers. With `approval_declined`: why not. */
  readonly approval: ApiError["approval"];
  /** With `approval_required` in a dry run: what it comes to. */
  readonly amountCents: ApiError["amountCents"];
  /** With `approval_required` in a dry run: what the key may do alone. */
  readonly aboveCents: ApiError["aboveCents"];
  /** With `account_in_use`: what must be finished first. */
  readonly open: ApiError["open"];

  constructor({ status, headers, body }: ErrorAnswer) {
    const known = errorBodyOf(body);
    super(known === undefined ? describe(status, headers, body) : messageOf(known));
    this.status = status;
    this.body = body;
    this.code = known?.error ?? "unexpected_response";
    this.issues = known?.issues ?? [];
    this.requestId = headers.get("X-Request-Id") ?? known?.requestId;
    this.retryAfter = retryAfterOf(headers);
    this.violations = known?.violations;
    this.requiredScope = known?.requiredScope;
    this.id = known?.id;
    this.bidId = known?.bidId;
    this.agreementId = known?.agreementId;
    this.priceCents = known?.priceCents;
    this.neededCents = known?.neededCents;
    this.availableCents = known?.availableCents;
    this.limitCents = known?.limitCents;
    this.spentCents = known?.spentCents;
    this.limit = known?.limit;
    this.taskId = known?.taskId;
    this.approval = known?.approval;
    this.amountCents = known?.amountCents;
    this.aboveCents = known?.aboveCents;
    this.open = known?.open;
  }
}

/** The body if it is one of the service's errors, with a code that this version knows. */
function errorBodyOf(body: unknown): ApiError | undefined {
  if (typeof body !== "object" || body === null || !("error" in body)) return undefined;
  const codes: readonly unknown[] = errorCodes;
  return codes.includes(body.error) ? (body as ApiError) : undefined; // the document promises the other fields
}

const MAX_ISSUES_IN_MESSAGE = 3;

function messageOf({ message, issues = [] }: ApiError): string {
  if (!Array.isArray(issues) || issues.length === 0) return message;
  const first = issues.slice(0, MAX_ISSUES_IN_MESSAGE).map((issue) => `${issue.path}: ${issue.message}`);
  return `${message} ${first.join(" ")}${issues.length > first.length ? " …" : ""}`;
}

const MAX_TEXT_IN_MESSAGE = 200;

/** For an answer that is not the service's, such as a proxy's page, or newer than this version. */
function describe(status: number, headers: Headers, body: unknown): string {
  const location = headers.get("Location");
  if (location !== null || status === 0)
    return `The service redirects${location === null ? "" : ` to ${location}`}: check \`baseUrl\`.`;
  // With a code that is newer than this version.
  if (typeof body === "object" && body !== null && "error" in body && "message" in body)
    return `${body.message} (${body.error})`;
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return `The service answered with status ${status} and an unexpected body: ${text.slice(0, MAX_TEXT_IN_MESSAGE)}`;
}

/** `Retry-After` in seconds. It can also be a date (RFC 9110, 10.2.3). */
function retryAfterOf(headers: Headers): number | undefined {
  const text = headers.get("Retry-After");
  if (text === null) return undefined;
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1000;
  return Number.isNaN(seconds) ? undefined : Math.max(0, Math.ceil(seconds));
}

/** 400. The input is not valid, or not allowed here. */
export class BadRequestError extends RebidError {
  override readonly name = "BadRequestError";
  declare readonly code: ErrorCodes[400] | Unexpected;
}

/** 401. The credentials are missing, wrong or no longer valid. */
export class UnauthorizedError extends RebidError {
  override readonly name = "UnauthorizedError";
  declare readonly code: ErrorCodes[401] | Unexpected;
}

/** 402. The wallet has too little. */
export class PaymentRequiredError extends RebidError {
  override readonly name = "PaymentRequiredError";
  declare readonly code: ErrorCodes[402] | Unexpected;
}

/** 403. The caller, or the API key, may not do this. */
export class ForbiddenError extends RebidError {
  override readonly name = "ForbiddenError";
  declare readonly code: ErrorCodes[403] | Unexpected;
}

/** 404. It does not exist, or the caller may not see it. */
export class NotFoundError extends RebidError {
  override readonly name = "NotFoundError";
  declare readonly code: ErrorCodes[404] | Unexpected;
}

/** 405. The path does not support the method. */
export class MethodNotAllowedError extends RebidError {
  override readonly name = "MethodNotAllowedError";
  declare readonly code: ErrorCodes[405] | Unexpected;
}

/** 409. The state of things does not allow this. */
export class ConflictError extends RebidError {
  override readonly name = "ConflictError";
  declare readonly code: ErrorCodes[409] | Unexpected;
}

/** 410. The cursor is older than the events that are kept. */
export class GoneError extends RebidError {
  override readonly name = "GoneError";
  declare readonly code: ErrorCodes[410] | Unexpected;
}

/** 412. Something has to be done first, such as the onboarding. */
export class PreconditionFailedError extends RebidError {
  override readonly name = "PreconditionFailedError";
  declare readonly code: ErrorCodes[412] | Unexpected;
}

/** 413. The input is too large. */
export class PayloadTooLargeError extends RebidError {
  override readonly name = "PayloadTooLargeError";
  declare readonly code: ErrorCodes[413] | Unexpected;
}

/** 415. The body is not JSON. */
export class UnsupportedMediaTypeError extends RebidError {
  override readonly name = "UnsupportedMediaTypeError";
  declare readonly code: ErrorCodes[415] | Unexpected;
}

/** 429. Too many requests; see `retryAfter`. */
export class TooManyRequestsError extends RebidError {
  override readonly name = "TooManyRequestsError";
  declare readonly code: ErrorCodes[429] | Unexpected;
}

/** 500. A bug of the service. Quote `requestId` to report it. */
export class InternalServerError extends RebidError {
  override readonly name = "InternalServerError";
  declare readonly code: ErrorCodes[500] | Unexpected;
}

/** 502. The payment processor does not respond. */
export class BadGatewayError extends RebidError {
  override readonly name = "BadGatewayError";
  declare readonly code: ErrorCodes[502] | Unexpected;
}

/** 503. The service is busy or restarting; see `retryAfter`. */
export class ServiceUnavailableError extends RebidError {
  override readonly name = "ServiceUnavailableError";
  declare readonly code: ErrorCodes[503] | Unexpected;
}

/** No answer arrived, or only a part of one. `cause` says why. Whether the request was carried out is not known. */
export class RebidConnectionError extends Error {
  override readonly name: string = "RebidConnectionError";
}

/** The answer was not there in time. Whether the request was carried out is not known. */
export class RebidTimeoutError extends RebidConnectionError {
  override readonly name = "RebidTimeoutError";
}

/** The object store, to which files go, refused one. */
export class RebidUploadError extends Error {
  override readonly name = "RebidUploadError";
  readonly status: number;
  /** The store's own code, such as `AccessDenied` when the upload's hour is over. */
  readonly code: string | undefined;

  constructor(status: number, body: string) {
    const code = /<Code>(\w+)<\/Code>/.exec(body)?.[1];
    super(`The object store answered with status ${status}${code === undefined ? "" : ` and ${code}`}.`);
    this.status = status;
    this.code = code;
  }
}
