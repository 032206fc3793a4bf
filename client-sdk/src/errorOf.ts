import {
  BadGatewayError,
  BadRequestError,
  ConflictError,
  type ErrorAnswer,
  ForbiddenError,
  GoneError,
  InternalServerError,
  MethodNotAllowedError,
  NotFoundError,
  PayloadTooLargeError,
  PaymentRequiredError,
  PreconditionFailedError,
  RebidError,
  ServiceUnavailableError,
  TooManyRequestsError,
  UnauthorizedError,
  UnsupportedMediaTypeError,
} from "./errors.ts";

const classes: Record<number, new (answer: ErrorAnswer) => RebidError> = {
  400: BadRequestError,
  401: UnauthorizedError,
  402: PaymentRequiredError,
  403: ForbiddenError,
  404: NotFoundError,
  405: MethodNotAllowedError,
  409: ConflictError,
  410: GoneError,
  412: PreconditionFailedError,
  413: PayloadTooLargeError,
  415: UnsupportedMediaTypeError,
  429: TooManyRequestsError,
  500: InternalServerError,
  502: BadGatewayError,
  503: ServiceUnavailableError,
};

/** Returns the error for an answer, of the class for its status. */
export function errorOf(answer: ErrorAnswer): RebidError {
  return new (classes[answer.status] ?? RebidError)(answer);
}
