import { AsyncLocalStorage } from "node:async_hooks";
import type { RequestHandler } from "express";

const storage = new AsyncLocalStorage<string>();
const acceptable = /^[\w.:-]{1,128}$/;

/** The id of the request being answered, or "" outside of one. Some errors are made before there is a context. */
export function currentRequestId(): string {
  return storage.getStore() ?? "";
}

/** Gives each request an id, the caller's own if it sent a sane `X-Request-Id`, and answers with it. */
export const requestId: RequestHandler = (request, response, next) => {
  const given = request.headers["x-request-id"];
  const id = typeof given === "string" && acceptable.test(given) ? given : crypto.randomUUID();
  response.setHeader("X-Request-Id", id);
  storage.run(id, next);
};
