import { api, type LogEvent } from "./client.ts";

const STORAGE_KEY = "rebid.topup";

/** A top-up whose checkout page somebody was sent to from this tab. */
interface PendingTopup {
  sessionId: string;
  /** Whether a task is posted with it. */
  isForTask: boolean;
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

/** What came of a top-up: the money, and the task that it was for, or why that was not posted. */
export type Credited = Extract<LogEvent, { type: "topup.credited" }>["data"];

/** Waits until the top-up is credited; null if that is no longer awaited. */
export async function untilCredited(
  { sessionId, cursor }: PendingTopup,
  signal: AbortSignal,
): Promise<Credited | null> {
  let after = cursor;
  while (!signal.aborted) {
    const page = await api.events.list.query({ after, types: ["topup.credited"], wait: 25 }, { signal });
    for (const event of page.events) {
      if (event.type === "topup.credited" && event.data.topup.sessionId === sessionId) return event.data;
    }
    after = page.nextCursor;
  }
  return null;
}
