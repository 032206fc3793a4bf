import { z } from "zod";
import { idOf, Timestamp, text } from "./common.ts";
import { eventTypes, logEventTypes, logOnlyEventTypes } from "./event.ts";

const EventType = z
  .enum(eventTypes)
  .meta({ id: "WebhookEventType", description: "The events that webhooks can subscribe to, a closed set." });

const LogOnlyEventType = z
  .enum(logOnlyEventTypes)
  .meta({ id: "LogOnlyEventType", description: "The types of the event log beyond `WebhookEventType`." });

export const Webhook = z
  .object({
    id: idOf("webhook endpoint"),
    url: z.string().meta({
      description: "Where events are sent.",
      format: "uri",
      example: "https://example.com/rebid",
    }),
    events: z
      .array(EventType)
      .meta({ description: "The types that are sent.", example: ["task.awarded", "task.accepted"] }),
    logEvents: z.array(LogOnlyEventType).meta({
      description: "The other types of the event log that are sent when they concern you.",
      example: ["bid.rejected"],
    }),
    active: z.boolean().meta({
      description:
        "False while the endpoint is switched off: by you, because it responded with 410, or because it failed 100 times in a " +
        "row over at least 3 days. Events that happen meanwhile are not delivered. A test or a replay switches it on again.",
      example: true,
    }),
    createdAt: Timestamp.meta({ description: "When the endpoint was registered." }),
  })
  .meta({ id: "Webhook", description: "An address of yours that events are sent to." });
export type Webhook = z.infer<typeof Webhook>;

export const webhookInput = {
  url: text(1, 2_048).meta({
    description: "A public HTTPS address.",
    format: "uri",
    example: "https://example.com/rebid",
  }),
  events: z
    .array(EventType)
    .transform((events) => [...new Set(events)])
    .meta({
      description: "The types to send. It may be empty if `logEvents` is not.",
      maxItems: 1_000,
      example: ["task.awarded", "task.accepted"],
    }),
  logEvents: z
    .array(LogOnlyEventType)
    .transform((events) => [...new Set(events)])
    .meta({
      description: "Other types of the event log to send, when they concern you: same body, signature and retries.",
      maxItems: 1_000,
      example: ["bid.rejected"],
    }),
} as const;

export const deliveryStatuses = ["pending", "succeeded", "failed"] as const;

const WebhookAttempt = z
  .object({
    attemptedAt: Timestamp.meta({ description: "When the request was sent." }),
    statusCode: z
      .int32()
      .nullable()
      .meta({ description: "The response's status; null if there was no complete response in time.", example: 200 }),
    durationMs: z.int32().meta({ description: "Milliseconds until the response, or the failure.", example: 84 }),
    error: z.string().nullable().meta({ description: "Why there was no complete response.", example: null }),
  })
  .meta({ id: "WebhookAttempt", description: "One request of a delivery." });

export const WebhookDelivery = z
  .object({
    id: idOf("webhook delivery"),
    webhookId: idOf("webhook endpoint", "The endpoint that it goes to."),
    eventId: idOf("event", "The `id` in the payload, the same for retries and replays."),
    event: z.enum(logEventTypes).meta({ description: "The event's type.", example: "task.awarded" }),
    status: z.enum(deliveryStatuses).meta({
      description: "`pending`: not sent yet, or to be sent again. `failed`: not sent again unless it is replayed.",
      example: "succeeded",
    }),
    attempts: z.array(WebhookAttempt).meta({ description: "Oldest first. The latest 20 are kept." }),
    nextAttemptAt: Timestamp.nullable().meta({
      description: "When it is due; null when it is not pending.",
      example: null,
    }),
    createdAt: Timestamp.meta({ description: "When the delivery was created." }),
  })
  .meta({ id: "WebhookDelivery", description: "An event on its way to an endpoint." });
export type WebhookDelivery = z.infer<typeof WebhookDelivery>;
