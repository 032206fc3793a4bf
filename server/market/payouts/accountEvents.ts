import { z } from "zod";
import type { ProcessorEvent } from "../../gateways/processorRecords.ts";

const accountEvent = /^(v2\.core\.account($|[.[])|account\.|capability\.)/;
const AccountSnapshot = z.object({ id: z.string(), object: z.string().optional(), account: z.string().optional() });

/**
 * The connected account that an event tells of, or null when it tells of none. Whatever the event says of its state is
 * left aside: events come late and in any order, so the state is fetched.
 */
export function accountOfEvent(event: ProcessorEvent): string | null {
  if (!accountEvent.test(event.type)) return null;
  if (event.relatedObjectId !== null) return event.relatedObjectId;
  const snapshot = AccountSnapshot.safeParse(event.data).data;
  return snapshot?.account ?? (snapshot?.object === "account" ? snapshot.id : event.account);
}
