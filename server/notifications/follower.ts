import type { Services } from "../services.ts";
import { logFailure } from "../store/logFailure.ts";
import { createSignal } from "../webhooks/signal.ts";
import { tellNext } from "./follow.ts";

/** How late people are told if nobody says that the log has grown. */
const POLL_INTERVAL_MS = 1_000;

export interface NotificationFollower {
  /** Says that the log has grown. */
  wake(): void;
  /** Lets the batch under way finish. */
  stop(): Promise<void>;
}

/** Tells people of what is new in the event log until `stop`. */
export function startNotificationFollower(services: Services): NotificationFollower {
  const signal = createSignal();
  let stopping = false;
  const rounds = (async () => {
    while (!stopping) {
      try {
        while (!stopping && (await tellNext(services)) > 0) {}
      } catch (error) {
        logFailure(services.log, error, {}, "telling people of events failed; trying again");
      }
      await signal.wait(POLL_INTERVAL_MS);
    }
  })();
  return {
    wake: signal.send,
    async stop() {
      stopping = true;
      signal.send();
      await rounds;
    },
  };
}
