import type { RequestHandler } from "express";
import { ApiError } from "../errors.ts";
import { answerError } from "./answer.ts";

/**
 * Refuses a request with two `Host` headers, or with none (RFC 9112, 3.2): a proxy before us could read another one than
 * we do. Node's parser lets two through.
 */
export const oneHost: RequestHandler = (request, response, next) => {
  const hosts = request.rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === "host").length;
  if (hosts === 1 || (hosts === 0 && request.httpVersion === "1.0")) return next();
  answerError(response, new ApiError("invalid_input", { message: "Exactly one Host header is needed." }));
};
