import { createHmac } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { styleText } from "node:util";
import { readConfig } from "../config.ts";
import { guardedEgress } from "../gateways/egress.ts";
import { EgressFailed } from "../gateways/egressErrors.ts";
import { type LogEventType, logEventTypes } from "../schemas/event.ts";
import type { Services } from "../services.ts";
import { isDatabaseUnavailable } from "../store/databaseErrors.ts";
import { eventBody, type StoredEvent } from "../webhooks/payload.ts";
import { deliveryHeaders, SIGNATURE_HEADER } from "../webhooks/sign.ts";
import { followWholeLog, openBookmark } from "./listen/bookmark.ts";
import { withServices } from "./openServices.ts";
import { runCommand, UsageError, withArguments } from "./runCommand.ts";
import { bold, dim, printableJson } from "./terminal.ts";

/** The event types, wrapped at 80 characters. */
const eventList = logEventTypes
  .join(", ")
  .replaceAll(/(.{1,80})(?: |$)/g, "      $1\n")
  .trimEnd();

const usage = `Prints the events of a running service as they happen, until you press Ctrl-C. The next time, it
continues where it stopped, with the events that have happened since.

Usage, while Rebid runs:
  npm run listen -- [--events TYPE,TYPE,…] [--forward-to URL] [--from-now]

  --events TYPE,TYPE,…
      Only these types. By default all of them:
${eventList}
  --forward-to URL
      Also POSTs each event to this address, for example http://localhost:4242/hook, like a webhook. The requests are
      signed with a secret that is printed at the start and stays the same on this installation.
  --from-now
      Leaves out what has happened since it was stopped.`;

const POLL_INTERVAL_MS = 250;

function eventTypesOf(text: string): LogEventType[] {
  return text.split(",").map((name) => {
    const type = logEventTypes.find((known) => known === name.trim());
    if (type === undefined) throw new UsageError(`Unknown event type: ${name}`);
    return type;
  });
}

/** Completes the short forms `localhost:4242/hook` and `4242/hook`. */
function addressOf(text: string): string {
  const url = text.includes("://") ? text : `http://${/^\d+(\/|$)/.test(text) ? `localhost:${text}` : text}`;
  if (!URL.canParse(url) || !/^https?:/.test(url)) {
    throw new UsageError(`--forward-to must be an HTTP address such as http://localhost:4242/hook, not "${text}".`);
  }
  return url;
}

/** Derived from the newest session secret, so that it stays the same and the receiver has to be configured only once. */
function forwardingSecret([newest = ""]: readonly string[]): string {
  return `whsec_${createHmac("sha256", newest).update("npm run listen").digest("hex")}`;
}

interface Forwarder {
  /** POSTs the event and prints the receiver's status, or why there was no response. */
  forward(event: StoredEvent): Promise<void>;
  close(): Promise<void>;
}

function createForwarder(url: string, secret: string, timeoutMs: number): Forwarder {
  // The guard is for addresses that users chose. The person at the terminal chose this one.
  const egress = guardedEgress({ allowInsecure: true });
  return {
    async forward(event) {
      const body = eventBody(event);
      const startedMs = performance.now();
      const request = { headers: deliveryHeaders({ eventId: event.id, body }, secret, new Date()), body, timeoutMs };
      const result = await egress.post(url, request).then(
        ({ statusCode }) => styleText(statusCode < 300 ? "green" : "red", String(statusCode)),
        (error: unknown) => {
          if (error instanceof EgressFailed) return styleText("red", error.message);
          throw error;
        },
      );
      const duration = `${Math.round(performance.now() - startedMs)} ms`;
      console.log(`         ${result} ${dim(`(${event.type} ${event.id} to ${url}, ${duration})`)}`);
    },
    close: () => egress.close(),
  };
}

async function listen(
  { database, settings, eventCursors }: Services,
  { types, forwardTo, fromNow }: { types: readonly LogEventType[]; forwardTo: string | null; fromNow: boolean },
): Promise<void> {
  const stopped = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stopped.abort());
  const bookmark = openBookmark(readConfig(process.env).dataDirectory, eventCursors);
  const kept = fromNow ? null : await bookmark.read();
  const follower = await followWholeLog(database, eventCursors, kept);

  const which = types.length === logEventTypes.length ? "all events" : types.join(", ");
  console.log(`Listening to ${bold(settings.publicUrl)} for ${which}. Press Ctrl-C to stop.`);
  if (follower.hasLostPlace) console.log(dim("The log no longer has the place where this stopped; beginning now."));
  const secret = forwardingSecret(settings.sessionSecrets);
  const forwarder =
    forwardTo === null ? null : createForwarder(forwardTo, secret, settings.webhookTimeoutSeconds * 1000);
  if (forwardTo !== null) {
    console.log(`Forwarding to ${bold(forwardTo)}, with ${SIGNATURE_HEADER} signed with ${bold(secret)}`);
  }
  let connected = true;
  while (!stopped.signal.aborted) {
    // Developers restart the service all the time, and with it the embedded database.
    const events = await follower.next().catch((error: unknown) => {
      if (!isDatabaseUnavailable(error)) throw error;
      return null;
    });
    if (connected && events === null) console.log(dim("The database is unreachable; waiting for it."));
    if (!connected && events !== null) console.log(dim("The database is reachable again."));
    connected = events !== null;
    for (const { event } of events ?? []) {
      if (!types.includes(event.type)) continue;
      print(event);
      // Not awaited: a receiver that hangs must not delay the next events.
      void forwarder?.forward(event);
    }
    await bookmark.write(follower.place());
    if (events?.length) continue;
    await sleep(POLL_INTERVAL_MS, undefined, { signal: stopped.signal }).catch(() => {});
  }
  await forwarder?.close();
}

function print(event: StoredEvent): void {
  const time = new Date(event.createdAt).toTimeString().slice(0, 8);
  console.log(`${dim(time)} ${bold(event.type)} ${dim(event.id)}`);
  console.log(printableJson(JSON.stringify(event.data, null, 2)).replace(/^/gm, "        "));
}

const options = {
  events: { type: "string" },
  "forward-to": { type: "string" },
  "from-now": { type: "boolean" },
} as const;

export const parse = withArguments(
  { options, maxPositionals: 0 },
  ({ values: { events, "forward-to": forwardTo, "from-now": fromNow = false } }) => {
    const listening = {
      types: events === undefined ? logEventTypes : eventTypesOf(events),
      forwardTo: forwardTo === undefined ? null : addressOf(forwardTo),
      fromNow,
    };
    return withServices((services) => listen(services, listening));
  },
);

if (import.meta.main) await runCommand({ usage, parse });
