import type { RequestHandler } from "express";
import { ApiError } from "../errors.ts";
import { sendError } from "./sendError.ts";

/**
 * Refuses requests with two `Host` headers, which Node's parser accepts, or with none (RFC 9112, 3.2): a proxy in front
 * could read a different one than we do.
 */
export const oneHost: RequestHandler = (request, response, next) => {
  const hosts = request.rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === "host").length;
  if (hosts === 1 || (hosts === 0 && request.httpVersion === "1.0")) return next();
  sendError(response, new ApiError("invalid_input", { message: "Send exactly one Host header." }));
};
