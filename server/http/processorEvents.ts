import { type RequestHandler, Router } from "express";
import { ApiError } from "../errors.ts";
import { InvalidEventSignature } from "../gateways/processorErrors.ts";
import { keepProcessorEvent } from "../market/processorEvents/inbox.ts";
import type { Services } from "../services.ts";
import { allowOnly, answerError } from "./answer.ts";
import { bodyReader } from "./body.ts";

const readEvent = bodyReader(1024 * 1024);

/**
 * Where the payment processor posts its events. A forged or stale one is 400 and leaves no trace; a true one is kept and
 * its job added in one transaction, then answered. The same event again changes nothing. What it means is the job's work.
 */
export function processorEvents({ processor, clock, database }: Services): Router {
  const receive: RequestHandler = async (request, response) => {
    const signature = request.headers["stripe-signature"];
    const body = await readEvent(request, response);
    const event = (() => {
      try {
        return processor.verifyEvent(body, typeof signature === "string" ? signature : undefined, clock.now());
      } catch (error) {
        if (error instanceof InvalidEventSignature) return null;
        throw error;
      }
    })();
    if (event === null) {
      return answerError(response, new ApiError("invalid_input", { message: "The signature is not valid." }));
    }
    await database.transaction((tx) => keepProcessorEvent(tx, event));
    response.json({ received: true });
  };
  return Router().post("/processor/events", receive).all("/processor/events", allowOnly("POST"));
}
