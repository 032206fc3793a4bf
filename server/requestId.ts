import { AsyncLocalStorage } from "node:async_hooks";
import type { RequestHandler } from "express";

const storage = new AsyncLocalStorage<string>();
const acceptable = /^[\w.:-]{1,128}$/;

/** Returns the id of the current request, or "" outside of one. For errors that happen before there is a context. */
export function currentRequestId(): string {
  return storage.getStore() ?? "";
}

/** Assigns an id to each request, the client's own if its `X-Request-Id` is acceptable, and sends it back. */
export const requestId: RequestHandler = (request, response, next) => {
  const given = request.headers["x-request-id"];
  const id = typeof given === "string" && acceptable.test(given) ? given : crypto.randomUUID();
  response.setHeader("X-Request-Id", id);
  storage.run(id, next);
};
