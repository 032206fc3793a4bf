import Stripe from "stripe";
import { route } from "../api/call.ts";
import { takeEventFault } from "./faults.ts";
import { listPage, pageParameters, v2Page } from "../api/list.ts";
import { type Filter, newId, platform, type SnapshotEvent, type ThinEvent } from "./store.ts";
import { nowSeconds, type World } from "./world.ts";

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
  route("GET /v2/core/events/:id", [], ({ world, id }) => world.store.get("v2.core.event", id)),
];

/** Records a v1 event with a snapshot of its object, in the transaction of the change, and queues its delivery. */
export function recordEvent(world: World, type: string, object: { object: string }, owner: string = platform): void {
  const event: SnapshotEvent = {
    id: newId("evt"),
    object: "event",
    ...(owner === platform ? {} : { account: owner }),
    api_version: Stripe.API_VERSION,
    created: nowSeconds(world),
    data: { object },
    livemode: false,
    pending_webhooks: 1,
    request: { id: null, idempotency_key: null },
    type,
  };
  world.store.insert(owner, event);
  queue(world, event.id);
}

/** Records a v2 event: it names the account only, whoever receives it fetches the account's state. */
export function recordThinEvent(world: World, type: string, accountId: string | null, data?: unknown): void {
  const event: ThinEvent = {
    id: newId("evt"),
    object: "v2.core.event",
    created: new Date(world.nowMs()).toISOString(),
    livemode: false,
    type,
    related_object:
      accountId === null ? null : { id: accountId, type: "v2.core.account", url: `/v2/core/accounts/${accountId}` },
    ...(data === undefined ? {} : { data }),
  };
  world.store.insert(platform, event);
  queue(world, event.id);
}

function queue(world: World, eventId: string): void {
  const fault = takeEventFault(world);
  if (fault === "event_drop") return;
  const delayMs = fault === "event_delay" ? 5_000 : fault === "event_shuffle" ? 200 + Math.random() * 2_000 : 0;
  for (let copies = fault === "event_duplicate" ? 2 : 1; copies > 0; copies -= 1)
    queueDelivery(world, eventId, delayMs);
}

/** Sends an event, once more if it was sent before, in `delayMs`. */
export function queueDelivery(world: World, eventId: string, delayMs = 0): void {
  const nextAttemptMs = Math.floor(world.nowMs() + delayMs);
  world.store.run("insert into deliveries (event_id, next_attempt_ms) values (?, ?)", eventId, nextAttemptMs);
}
