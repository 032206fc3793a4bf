import type { RequestHandler, Response } from "express";
import { ApiError } from "../errors.ts";
import { currentRequestId } from "../requestId.ts";
import { errorShape } from "../trpc.ts";

/** Returns the headers that an error's response needs. */
export function errorHeaders(error: ApiError): Record<string, string> {
  const { retryAfterSeconds } = error;
  return retryAfterSeconds === undefined ? {} : { "Retry-After": String(Math.ceil(retryAfterSeconds)) };
}

/** Responds with an error from the catalogue, in the shape that all errors have. */
export function sendError(response: Response, error: ApiError): void {
  response.status(error.status).set(errorHeaders(error)).json(error.toBody(currentRequestId()));
}

/** The same over typed RPC. */
export function sendRpcError(response: Response, error: ApiError): void {
  response
    .status(error.status)
    .set(errorHeaders(error))
    .json({ error: errorShape(error) });
}

/** Responds with 405, and lists the methods that the path supports in `Allow`. HEAD works wherever GET does. */
export function sendMethodNotAllowed(response: Response, methods: readonly string[]): void {
  response.set("Allow", methods.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : method)).join(", "));
  sendError(response, new ApiError("method_not_allowed"));
}

/** Refuses every other method of a path: for `Router().all`, after the path's own handlers. */
export function allowOnly(...methods: string[]): RequestHandler {
  return (_request, response) => sendMethodNotAllowed(response, methods);
}
