import type { RequestHandler, Response } from "express";
import { ApiError } from "../errors.ts";
import { currentRequestId } from "../requestId.ts";
import { errorShape } from "../trpc.ts";
import { isRpcPath } from "./paths.ts";

/** Returns the headers that the response of failed calls needs. After the longest wait, each of them may be repeated. */
export function errorHeaders(...errors: readonly ApiError[]): Record<string, string> {
  const waits = errors.flatMap(({ retryAfterSeconds }) => retryAfterSeconds ?? []);
  return waits.length === 0 ? {} : { "Retry-After": String(Math.ceil(Math.max(...waits))) };
}

/** Responds with an error from the catalogue, in the shape that all errors of the request's transport have. */
export function sendError(response: Response, error: ApiError): void {
  const body = isRpcPath(response.req.baseUrl + response.req.path)
    ? { error: errorShape(error) }
    : error.toBody(currentRequestId());
  response.status(error.status).set(errorHeaders(error)).json(body);
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
