import { takeEventFault } from "./faults.ts";
import { newId, platform, type SnapshotEvent, type ThinEvent } from "./objects.ts";
import { nowSeconds, type World } from "./world.ts";

/**
 * Records a v1 event, with a snapshot of its object, and queues its delivery. Call it in the transaction of the change.
 */
export function recordEvent(world: World, type: string, object: { object: string }, owner: string = platform): void {
  const event: SnapshotEvent = {
    id: newId("evt"),
    object: "event",
    ...(owner === platform ? {} : { account: owner }),
    api_version: world.apiVersion,
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

/** Records a v2 event. It contains only the account's id; the receiver fetches the account's current state. */
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

/** Queues an event for delivery after `delayMs`, even if it has been delivered before. */
export function queueDelivery(world: World, eventId: string, delayMs = 0): void {
  const nextAttemptMs = Math.floor(world.nowMs() + delayMs);
  world.store.run("insert into deliveries (event_id, next_attempt_ms) values (?, ?)", eventId, nextAttemptMs);
}
