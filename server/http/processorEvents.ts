import { type RequestHandler, Router } from "express";
import { ApiError } from "../errors.ts";
import { InvalidEventSignature } from "../gateways/processorErrors.ts";
import { storeProcessorEvent } from "../market/processorEvents/inbox.ts";
import type { Services } from "../services.ts";
import { bodyReader } from "./body.ts";
import { allowOnly, sendError } from "./sendError.ts";

const readEvent = bodyReader(1024 * 1024);

/**
 * Receives the payment processor's events. An event with a forged or old signature is refused with 400 and not stored. A
 * valid one is stored and its job added in one transaction, and then acknowledged; the job applies it. Receiving an event
 * again changes nothing.
 */
export function processorEvents({ processor, clock, database }: Services): Router {
  const receive: RequestHandler = async (request, response) => {
    const signature = request.headers["stripe-signature"];
    const body = await readEvent(request, response);
    const header = typeof signature === "string" ? signature : undefined;
    const event = await processor.verifyEvent(body, header, clock.real()).catch((error: unknown) => {
      if (error instanceof InvalidEventSignature) return null;
      throw error;
    });
    if (event === null) {
      return sendError(
        response,
        new ApiError("invalid_input", { message: "The `Stripe-Signature` header is missing, wrong or too old." }),
      );
    }
    await database.transaction((tx) => storeProcessorEvent(tx, event));
    response.json({ received: true });
  };
  return Router().post("/processor/events", receive).all("/processor/events", allowOnly("POST"));
}
