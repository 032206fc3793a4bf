import type { RequestHandler } from "express";
import { isTracing, traceRequest } from "../tracing.ts";

/** Makes a span of every request that comes after it. The operation, and what that does, become spans within. */
export const traceRequests: RequestHandler = (request, response, next) => {
  if (!isTracing()) return next();
  traceRequest(request.method, request.headers, (ended) => {
    response.once("close", () => ended(response.statusCode));
    next();
  });
};
