import { z } from "zod";
import type { ProcessorEvent } from "../../gateways/processorRecords.ts";

const accountEvent = /^(v2\.core\.account($|[.[])|account\.|capability\.)/;
const AccountSnapshot = z.object({ id: z.string(), object: z.string().optional(), account: z.string().optional() });

/**
 * The connected account that an event is about, or null. The state in the event is ignored: events arrive late and in any
 * order, so the state is fetched instead.
 */
export function accountOfEvent(event: ProcessorEvent): string | null {
  if (!accountEvent.test(event.type)) return null;
  if (event.relatedObjectId !== null) return event.relatedObjectId;
  const snapshot = AccountSnapshot.safeParse(event.data).data;
  return snapshot?.account ?? (snapshot?.object === "account" ? snapshot.id : event.account);
}
