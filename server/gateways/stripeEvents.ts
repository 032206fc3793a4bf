import type Stripe from "stripe";
import { z } from "zod";
import type { Processor } from "./processor.ts";
import { InvalidEventSignature } from "./processorErrors.ts";
import type { ProcessorEvent } from "./processorRecords.ts";
import { records } from "./stripeCalls.ts";

const EVENT_TOLERANCE_SECONDS = 300;

/** Events, as received or as listed. */
export function eventCalls(
  stripe: Stripe,
  webhookSecrets: readonly string[],
): Pick<Processor, "listEventDestinations" | "listEvents" | "verifyEvent"> {
  return {
    listEvents(types, createdSince) {
      const list = stripe.events.list({ types: [...types], created: { gte: createdSince }, limit: 100 });
      return records(list, eventRecord);
    },

    listEventDestinations() {
      const list = stripe.v2.core.eventDestinations.list({ limit: 100, include: ["webhook_endpoint.url"] });
      return records(list, (raw) => ({
        id: raw.id,
        url: raw.webhook_endpoint?.url ?? null,
        isEnabled: raw.status === "enabled",
        types: raw.enabled_events,
        from: raw.events_from ?? [],
      }));
    },

    async verifyEvent(rawBody, signatureHeader, now) {
      if (!isSigned(stripe, rawBody, signatureHeader, webhookSecrets, now)) {
        throw new InvalidEventSignature("The event's signature is missing, wrong or older than 300 seconds.");
      }
      const event = readEvent(rawBody);
      if (event === null) throw new InvalidEventSignature("The signed body is not an event.");
      return event;
    },
  };
}

function isSigned(
  stripe: Stripe,
  body: Buffer,
  header: string | undefined,
  secrets: readonly string[],
  now: Date,
): boolean {
  const { signature } = stripe.webhooks;
  if (signature === null) throw new Error("the stripe package cannot check signatures");
  if (header === undefined) return false;
  const receivedAt = now.getTime();
  return secrets.some((secret) => {
    try {
      return signature.verifyHeader(body, header, secret, EVENT_TOLERANCE_SECONDS, undefined, receivedAt);
    } catch {
      // Some forged headers make the package throw a plain Error. All other arguments are our own and well-formed, so
      // any error means a forgery.
      return false;
    }
  });
}

const SnapshotEvent = z.object({
  object: z.literal("event"),
  id: z.string(),
  type: z.string(),
  account: z.string().nullish(),
  data: z.object({ object: z.unknown() }),
});

const ThinEvent = z.object({
  object: z.literal("v2.core.event"),
  id: z.string(),
  type: z.string(),
  context: z.string().nullish(),
  related_object: z.object({ id: z.string() }).nullish(),
});

const SignedEvent = z.discriminatedUnion("object", [SnapshotEvent, ThinEvent]);

/** Reads an event from Stripe's list. */
function eventRecord(event: Stripe.Event): ProcessorEvent {
  return snapshotRecord(storable(event));
}

/** Reads an event whose signature has been verified; null when the body is not an event. */
function readEvent(rawBody: Buffer): ProcessorEvent | null {
  const event = SignedEvent.safeParse(storable(parseJson(rawBody))).data;
  if (event === undefined) return null;
  if (event.object === "event") return snapshotRecord(event);
  const { id, type, context = null, related_object } = event;
  return { id, type, account: context, data: null, relatedObjectId: related_object?.id ?? null };
}

function snapshotRecord({ id, type, account = null, data }: z.infer<typeof SnapshotEvent>): ProcessorEvent {
  return { id, type, account, data: data.object, relatedObjectId: null };
}

/**
 * Replaces every NUL and every unpaired surrogate, in keys and values, by U+FFFD. Postgres can store neither, and no
 * event may be lost because of what a user typed into a field; nothing that moves money contains them.
 */
function storable<Json>(value: Json): Json {
  // JSON.stringify escapes a surrogate only when it is unpaired. The dot consumes any other escape whole, so that text
  // after an escaped backslash is not mistaken for an escape.
  const text = JSON.stringify(value).replace(/\\(?:(u0000|ud[0-9a-f]{3})|.)/g, (escaped, unstorable?: string) =>
    unstorable === undefined ? escaped : "\ufffd",
  );
  return JSON.parse(text);
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    return null;
  }
}
