import { z } from "zod";
import { Id, Timestamp, text } from "./common.ts";
import { eventTypes } from "./event.ts";

const EventType = z.enum(eventTypes);

export const Webhook = z
  .object({
    id: Id,
    url: z.string(),
    events: z.array(EventType),
    active: z.boolean().meta({
      description:
        "False while the endpoint is switched off: it responded with 410, or failed 100 times in a row over at least 3 " +
        "days. Events that happen meanwhile are not delivered. A test or a replay switches it on again.",
    }),
    createdAt: Timestamp,
  })
  .meta({ id: "Webhook" });
export type Webhook = z.infer<typeof Webhook>;

export const webhookInput = {
  url: text(1, 2_048).meta({ description: "A public HTTPS address.", example: "https://example.com/rebid" }),
  events: z
    .array(EventType)
    .min(1)
    .transform((events) => [...new Set(events)]),
} as const;

export const deliveryStatuses = ["pending", "succeeded", "failed"] as const;

const WebhookAttempt = z
  .object({
    attemptedAt: Timestamp,
    statusCode: z.int().nullable().meta({ description: "Null if there was no complete response in time." }),
    durationMs: z.int(),
    error: z.string().nullable().meta({ description: "Why there was no complete response." }),
  })
  .meta({ id: "WebhookAttempt" });

export const WebhookDelivery = z
  .object({
    id: Id,
    webhookId: Id,
    eventId: Id.meta({ description: "The `id` in the payload, the same for retries and replays." }),
    event: EventType,
    status: z.enum(deliveryStatuses),
    attempts: z.array(WebhookAttempt).meta({ description: "Oldest first. The latest 20 are kept." }),
    nextAttemptAt: Timestamp.nullable(),
    createdAt: Timestamp,
  })
  .meta({ id: "WebhookDelivery" });
export type WebhookDelivery = z.infer<typeof WebhookDelivery>;
