import { route } from "../api/call.ts";
import { listPage, pageParameters, v2Page } from "../api/list.ts";
import type { Filter } from "../model/store.ts";

export const eventCalls = [
  route("GET /v1/events", [...pageParameters, "type", "types"], (call) => {
    const { type, types } = call.parameters;
    const filters: Filter[] = [];
    if (type !== undefined) filters.push({ path: "$.type", operator: "glob", value: type });
    if (types !== undefined) filters.push({ path: "$.type", operator: "in", value: JSON.stringify(types) });
    return listPage(call, "event", "/v1/events", call.parameters, {}, filters);
  }),
  route("GET /v1/events/:id", [], ({ world, id, owner }) => world.store.get("event", id, owner)),
  route("GET /v2/core/events", ["limit", "object_id", "types", "page"], (call) => {
    const { object_id: objectId, types } = call.parameters;
    const filters: Filter[] = [];
    if (objectId !== undefined) filters.push({ path: "$.related_object.id", operator: "=", value: objectId });
    if (types !== undefined) filters.push({ path: "$.type", operator: "in", value: JSON.stringify(types) });
    return v2Page(call, "v2.core.event", "/v2/core/events", filters);
  }),
  // Every event goes to the one address of the service.
  route("GET /v2/core/event_destinations", ["limit", "include"], ({ world }) => ({
    data: [
      {
        id: "ed_embedded",
        object: "v2.core.event_destination",
        enabled_events: ["*"],
        event_payload: "snapshot",
        events_from: ["@self", "@accounts"],
        livemode: false,
        status: "enabled",
        type: "webhook_endpoint",
        webhook_endpoint: { url: world.eventsUrl },
      },
    ],
    next_page_url: null,
    previous_page_url: null,
  })),
  route("GET /v2/core/events/:id", [], ({ world, id }) => world.store.get("v2.core.event", id)),
];
