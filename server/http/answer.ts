import type { RequestHandler, Response } from "express";
import { ApiError } from "../errors.ts";
import { currentRequestId } from "../requestId.ts";

/** The headers that belong to an error, beside its body. */
export function errorHeaders(error: ApiError): Record<string, string> {
  const { retryAfterSeconds } = error.details;
  return retryAfterSeconds === undefined ? {} : { "Retry-After": String(Math.ceil(retryAfterSeconds)) };
}

/** Answers with an error from the catalogue, in the one shape that all errors have. */
export function answerError(response: Response, error: ApiError): void {
  response.status(error.status).set(errorHeaders(error)).json(error.toBody(currentRequestId()));
}

/** Answers 405 on a path that is known, and says what it takes; HEAD goes where GET does. */
export function answerMethodNotAllowed(response: Response, methods: readonly string[]): void {
  response.set("Allow", methods.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : method)).join(", "));
  answerError(response, new ApiError("method_not_allowed"));
}

/** Stands behind the handlers of a path, for `Router().all`. */
export function allowOnly(...methods: string[]): RequestHandler {
  return (_request, response) => answerMethodNotAllowed(response, methods);
}
