import { z } from "zod";
import type { ProcessorEvent } from "../../gateways/processorRecords.ts";

const accountEvent = /^(v2\.core\.account($|[.[])|account\.|capability\.)/;
const AccountSnapshot = z.object({ id: z.string(), object: z.string().optional(), account: z.string().optional() });

/**
 * Returns the id of the connected account that an event is about, or null. Events arrive late and in any order, so the
 * account's state is not taken from the event but fetched.
 */
export function accountOfEvent(event: ProcessorEvent): string | null {
  if (!accountEvent.test(event.type)) return null;
  if (event.relatedObjectId !== null) return event.relatedObjectId;
  const snapshot = AccountSnapshot.safeParse(event.data).data;
  return snapshot?.account ?? (snapshot?.object === "account" ? snapshot.id : event.account);
}
