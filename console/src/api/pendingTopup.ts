import { api } from "./client.ts";

const STORAGE_KEY = "rebid.topup";

/** A top-up whose checkout page somebody was sent to from this tab. */
interface PendingTopup {
  sessionId: string;
  amountCents: number;
  /** The end of the event log before the checkout page was opened. */
  cursor: string;
}

export function rememberTopup(topup: PendingTopup): void {
  sessionStorage.setItem(STORAGE_KEY, JSON.stringify(topup));
}

export function recallTopup(): PendingTopup | null {
  try {
    return JSON.parse(sessionStorage.getItem(STORAGE_KEY) ?? "null");
  } catch {
    return null;
  }
}

/** Returns the end of the event log. */
export async function endOfLog(): Promise<string> {
  return (await api.events.list.query({ after: "latest", limit: 1 })).nextCursor;
}

/** Waits until the top-up is credited. */
export async function untilCredited({ sessionId, cursor }: PendingTopup, signal: AbortSignal): Promise<void> {
  let after = cursor;
  while (!signal.aborted) {
    const page = await api.events.list.query({ after, types: ["topup.credited"], wait: 25 }, { signal });
    if (page.events.some(({ data }) => "topup" in data && data.topup.sessionId === sessionId)) return;
    after = page.nextCursor;
  }
}
