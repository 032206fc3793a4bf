import { z } from "zod";
import { StreamQuery } from "../../schemas/eventLog.ts";
import { type Route, tagOf } from "../routes.ts";
import { type JsonObject, type Operation, toJson } from "./json.ts";

/** What streams refer to. */
export const lastEventIdParameter = {
  name: "Last-Event-ID",
  in: "header",
  description: "The `id` of the last message that was received. It replaces `after`.",
  schema: { type: "string", minLength: 1, maxLength: 64 },
};

/** Returns the operation of a stream, as trpc-to-openapi would write it if it knew streams. */
export function streamOperation(route: Route): Operation {
  const { properties = {} } = toJson(z.toJSONSchema(StreamQuery, { io: "input" })) as { properties?: JsonObject };
  const parameters = Object.entries(properties).map(([name, property]) => {
    return { name, in: "query", schema: property };
  });
  return {
    operationId: route.procedurePath.replaceAll(".", "_"),
    summary: route.meta.summary ?? "",
    description: route.meta.description ?? "",
    tags: [tagOf(route)],
    parameters: [...parameters, { $ref: "#/components/parameters/LastEventId" }],
    responses: {
      200: {
        content: {
          "text/event-stream": {
            schema: { type: "string" },
            // As `itemSchema` of OpenAPI 3.2 describes each message.
            "x-item-schema": {
              type: "object",
              properties: {
                id: { type: "string", description: "The cursor behind this event: `Last-Event-ID`." },
                data: {
                  type: "string",
                  contentMediaType: "application/json",
                  contentSchema: { $ref: "#/components/schemas/LogEvent" },
                },
              },
            },
            example: 'data: {"id":"…","type":"bid.received","createdAt":"…","data":{…}}\nid: AZqhss…\n\n',
          },
        },
      },
    },
  };
}
