import { eventBodies, eventCatalogue, eventSchemaName, eventTypes, logEventTypes } from "../../schemas/event.ts";
import { exampleEvent } from "../../webhooks/sample.ts";
import { EVENT_ID_HEADER, SIGNATURE_HEADER } from "../../webhooks/sign.ts";

/** The bodies of the events, by their names in the document's schemas. */
export const eventSchemas = Object.fromEntries(logEventTypes.map((type) => [eventSchemaName(type), eventBodies[type]]));

/** Describes what `signatureOf` in server/webhooks/sign.ts returns. */
export const signatureParameter = {
  name: SIGNATURE_HEADER,
  in: "header",
  required: true,
  description:
    "`t` is the Unix time of this attempt in seconds. `v1` is the hex HMAC-SHA256 of `t`, a dot and the exact bytes of the " +
    "body, keyed by the whole `signingSecret` of the endpoint. Compare in constant time, and refuse a `t` more than five " +
    "minutes from now. Code in several languages: [/docs/webhooks](/docs/webhooks).",
  schema: { type: "string", pattern: "^t=[0-9]+,v1=[0-9a-f]{64}$" },
  example: `t=1795176000,v1=${"5257a869".repeat(8)}`,
};

export const eventIdParameter = {
  name: EVENT_ID_HEADER,
  in: "header",
  required: true,
  description: "The event's `id`, as in the body: skip what you have handled already.",
  schema: { type: "string", format: "uuid" },
  example: "019aa1b2-c3d4-7e5f-8a6b-7c8d9e0f1a2b",
};

/** The effect of each response, as `classifyResponse` in server/webhooks/retries.ts decides. */
const effects = {
  "2XX": "Received. Respond within 10 seconds, and do the work afterwards.",
  "3XX": "Final: the event is not sent again. Redirects are not followed.",
  410: "Final, and the endpoint is switched off until a test or a replay switches it on again.",
  "4XX": "Final, including 408 and 429: the event is not sent again.",
  "5XX":
    "Sent again after about 30 seconds, 2 minutes, 10 minutes, 1 hour and 6 hours, as after a timeout or a connection error.",
};

const nameOfResponse = (status: string) => `event-${status}`;

/** The possible responses, by their names in the document. */
export const eventResponses = Object.fromEntries(
  Object.entries(effects).map(([status, description]) => [nameOfResponse(status), { description }]),
);

/** The document's `webhooks`: what we send, and what each response means. */
export const webhooks = Object.fromEntries(
  eventTypes.map((type) => {
    const { when, to } = eventCatalogue[type];
    const post = {
      operationId: type.replace(".", "_"),
      summary: type,
      description: `Sent when ${when}, to ${to}. The same event can arrive more than once, and events can arrive in any order.`,
      tags: ["webhooks"],
      security: [],
      parameters: [{ $ref: "#/components/parameters/Signature" }, { $ref: "#/components/parameters/EventId" }],
      requestBody: {
        required: true,
        content: {
          "application/json": {
            schema: { $ref: `#/components/schemas/${eventSchemaName(type)}` },
            example: exampleEvent(type),
          },
        },
      },
      responses: Object.fromEntries(
        Object.keys(effects).map((status) => [status, { $ref: `#/components/responses/${nameOfResponse(status)}` }]),
      ),
    };
    return [type, { post }];
  }),
);
