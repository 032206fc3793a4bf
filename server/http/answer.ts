import { TRPCError } from "@trpc/server";
import type { ErrorRequestHandler, Request, Response } from "express";
import { ApiError } from "../errors.ts";
import type { Services } from "../services.ts";
import { toApiError } from "../translateErrors.ts";
import type { Context } from "../trpc.ts";
import { countUnserved, createContext } from "./context.ts";
import { sendError } from "./sendError.ts";

/**
 * Answers a request, whichever door it came through: REST, typed RPC, or MCP. A door has read the input. It says how to run
 * the procedure, and how its output looks. Whatever is thrown goes to `answerFailure`.
 */
export async function answer<Output>(
  { services, request, response }: { services: Services; request: Request; response: Response },
  run: (context: Context) => Promise<Output>,
  send: (output: Output) => void,
): Promise<void> {
  // 1. Who calls.
  const context = await createContext(services, request, response);
  // 2. The procedure. What every call passes before, such as the limits, is in trpc.ts.
  const output = await run(context);
  // 3. What reached no procedure counts too, such as a message of MCP's own.
  if (!context.limits.counted) await context.limits.count({ group: "read" });
  // 4. The output.
  send(output);
}

/** Turns whatever was thrown into a documented error, so that no client ever sees an HTML page or a stack trace. */
export function answerFailure(services: Services): ErrorRequestHandler {
  return async (thrown: unknown, request, response, _next) => {
    // 5. An error from the catalogue, which is logged once: those of procedures have been, with the procedure's name.
    const error = toApiError(thrown);
    const isLogged = thrown instanceof TRPCError && thrown.cause instanceof ApiError;
    if (error.status >= 500 && !isLogged) {
      const requestId = response.get("X-Request-Id");
      if (error.isOverload) services.log.warn({ requestId }, "too many calls: one was refused");
      else services.log.error({ requestId, error: thrown }, error.code);
    }
    if (response.headersSent) return response.destroy();
    // 6. It counts if no procedure has counted it. Our own failures do not: the caller may repeat what was not their fault.
    const refusal = error.status < 500 ? await countUnserved(services, request, response) : null;
    sendError(response, refusal ?? error);
  };
}

/** Sends a text that is JSON already. An empty one is an answer without a body. */
export function sendJson(
  response: Response,
  { status = 200, headers = {}, body }: { status?: number; headers?: Record<string, string>; body: string | Buffer },
): void {
  response.statusCode = status;
  if (body.length > 0) {
    response.setHeader("Content-Type", "application/json; charset=utf-8");
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    response.setHeader("Content-Length", Buffer.byteLength(body));
  }
  response.end(body);
}
