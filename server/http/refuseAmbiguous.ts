import type { RequestHandler } from "express";
import { ApiError } from "../errors.ts";
import { sendError } from "./sendError.ts";

/**
 * Refuses requests that Node's parser accepts, but that a proxy in front could read differently than we do: with two `Host`
 * headers, with none or with one that is not a host (RFC 9112, 3.2), and HTTP/1.0 with `Transfer-Encoding`, which that
 * version does not have (6.1). tRPC also relies on a valid host: it builds a URL from it, and a failure there would end the
 * process.
 */
export const refuseAmbiguous: RequestHandler = (request, response, next) => {
  const message = ambiguityOf(request);
  if (message === null) return next();
  // What follows on this connection may be a part of the same request.
  response.set("Connection", "close");
  sendError(response, new ApiError("invalid_input", { message }));
};

function ambiguityOf({ headers, httpVersion, rawHeaders }: Parameters<RequestHandler>[0]): string | null {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) if (rawHeaders[at]?.toLowerCase() === "host") hosts++;
  if (hosts > 1 || (hosts === 0 && httpVersion !== "1.0")) return "Send exactly one Host header.";
  if (hosts === 1 && !isHost(headers.host ?? "")) return "The Host header is not a valid host.";
  if (httpVersion === "1.0" && headers["transfer-encoding"] !== undefined) {
    return "HTTP/1.0 has no Transfer-Encoding. Send a Content-Length, or use HTTP/1.1.";
  }
  return null;
}

const isHost = (host: string) => /^[^@/?#\\\s]+$/.test(host) && URL.canParse(`http://${host}`);
