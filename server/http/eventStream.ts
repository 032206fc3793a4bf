import { isTrackedEnvelope } from "@trpc/server";
import type { Request, Response } from "express";
import type { AppRouter } from "../procedures/router.ts";
import type { LogMessage } from "../schemas/eventLog.ts";
import type { Services } from "../services.ts";
import { toApiError } from "../translateErrors.ts";
import { createContext } from "./answer.ts";

const headers = {
  "Content-Type": "text/event-stream; charset=utf-8",
  // Tells nginx and its like not to collect the stream before they pass it on.
  "X-Accel-Buffering": "no",
};

/**
 * Serves the subscription `events.stream` as server-sent events (WHATWG HTML, 9.2). What is refused at the start has the
 * status and body of any error. A stream ends when the credential of its caller does, or with the process; then the client
 * connects again, and learns why from the answer.
 */
export async function sendEventStream(
  router: AppRouter,
  services: Services,
  request: Request,
  response: Response,
  fields: object,
): Promise<void> {
  const context = await createContext(services, request, response);
  const lastEventId = request.get("Last-Event-ID");
  const input = { ...fields, ...(lastEventId && { lastEventId }) };
  const messages = await router.createCaller(context).events.stream(input);
  const steps = messages[Symbol.asyncIterator]();
  // Until the first step, the response can still be an error.
  let step = await steps.next();
  response.status(200).set(headers);
  if (request.method === "HEAD") {
    await steps.return?.();
    response.end();
    return;
  }
  try {
    for (; !step.done; step = await steps.next()) {
      // Its type is what clients of tRPC see. What the procedure yields is an array.
      const envelope: unknown = step.value;
      if (!isTrackedEnvelope<LogMessage>(envelope)) throw new Error("a message of the stream has no id");
      if (!response.write(textOf(envelope[1]))) await room(response);
    }
  } catch (error) {
    const { code } = toApiError(error);
    if (!["unauthenticated", "unavailable"].includes(code)) throw error;
  } finally {
    await steps.return?.();
  }
  response.end();
}

/** Waits until the client has taken what was written, or has left. */
function room(response: Response): Promise<void> {
  return new Promise((resolve) => {
    const proceed = () => {
      response.off("drain", proceed).off("close", proceed);
      resolve();
    };
    if (response.closed) proceed();
    else response.on("drain", proceed).on("close", proceed);
  });
}

/** A step without an event is a comment for proxies, and the place to go on from. */
function textOf({ event, nextCursor }: LogMessage): string {
  const id = `id: ${nextCursor}\n\n`;
  return event === null ? `: still here\n${id}` : `data: ${JSON.stringify(event)}\n${id}`;
}
