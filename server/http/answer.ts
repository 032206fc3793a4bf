import type { Response } from "express";
import type { ApiError } from "../errors.ts";
import { currentRequestId } from "./requestId.ts";

/** The headers that belong to an error, beside its body. */
export function errorHeaders(error: ApiError): Record<string, string> {
  const { retryAfterSeconds } = error.details;
  return retryAfterSeconds === undefined ? {} : { "Retry-After": String(Math.ceil(retryAfterSeconds)) };
}

/** Answers with an error from the catalogue, in the one shape that all errors have. */
export function answerError(response: Response, error: ApiError): void {
  response.status(error.status).set(errorHeaders(error)).json(error.toBody(currentRequestId()));
}
