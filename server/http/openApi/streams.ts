import { z } from "zod";
import { StreamQuery } from "../../schemas/eventLog.ts";
import { type Route, tagOf } from "../routes.ts";
import { type JsonObject, type Operation, toJson } from "./json.ts";

const description = `The same as \`GET /events\`, as server-sent events. Each message has an event as \`data\`, in JSON with \`type\`, and
the cursor behind it as \`id\`. A client that connects again with \`Last-Event-ID\` goes on where it stopped; so do those
of browsers, on their own. A quiet stream has a comment every 15 seconds, with the cursor that it has reached. The stream ends
when the session or key does, and when the server restarts.

Browsers send the cookie. With an API key, use a client that can send headers, such as one on \`fetch\`: a key does not belong
into an address.`;

/** What streams refer to. */
export const lastEventIdParameter = {
  name: "Last-Event-ID",
  in: "header",
  description: "The `id` of the last message that was received. It replaces `after`.",
  schema: { type: "string" },
};

/** Returns the operation of a stream, as trpc-to-openapi would write it if it knew streams. */
export function streamOperation(route: Route): Operation {
  const { properties = {} } = toJson(z.toJSONSchema(StreamQuery, { io: "input" })) as { properties?: JsonObject };
  const parameters = Object.entries(properties).map(([name, property]) => {
    const { description = null, example = null, ...schema } = property as JsonObject; // a property is a schema
    return { name, in: "query", ...(description && { description }), ...(example && { example }), schema };
  });
  return {
    operationId: route.procedurePath.replaceAll(".", "_"),
    summary: route.meta.summary ?? "",
    description,
    tags: [tagOf(route)],
    parameters: [...parameters, { $ref: "#/components/parameters/LastEventId" }],
    responses: {
      200: {
        content: {
          "text/event-stream": {
            schema: { type: "string" },
            example: 'data: {"id":"…","type":"bid.received","createdAt":"…","data":{…}}\nid: AZqhss…\n\n',
          },
        },
      },
    },
  };
}
