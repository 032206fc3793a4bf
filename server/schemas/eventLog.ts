import { z } from "zod";
import { listOf } from "./common.ts";
import { LogEvent, logEventTypes } from "./event.ts";

/** The number of events on a page of the log. Source: docs/contract.md "Events and webhooks". */
const MAX_LOG_PAGE = 100;

/** The longest time that an empty answer is held back, in seconds. */
const MAX_WAIT_SECONDS = 30;

const after = z
  .string()
  .min(1)
  .max(100)
  .meta({
    description:
      "The `nextCursor` of an earlier answer. Omit it to begin with the oldest event that is kept; `latest` begins now.",
    example: "latest",
  })
  .optional();
const types = listOf(logEventTypes, "The types of events to return; all by default.").optional();

/** The query of one page of the log. */
export const LogQuery = z.strictObject({
  after,
  types,
  limit: z.int().min(1).max(MAX_LOG_PAGE).default(50).meta({ description: "Events per page." }),
  wait: z
    .int()
    .min(0)
    .max(MAX_WAIT_SECONDS)
    .default(0)
    .meta({ description: "Seconds for which an empty answer is held back until something happens." }),
});

/** The query of the log as a stream. */
export const StreamQuery = z.strictObject({
  after,
  types,
  lastEventId: after
    .unwrap()
    .meta({
      description:
        "As `after`, which it replaces. Clients of server-sent events send it as the header `Last-Event-ID` when they connect again.",
    })
    .optional(),
});

const cursor = z
  .string()
  .meta({ description: "Send it as `after` to go on behind this point. Opaque.", example: "AZqhssAAcAA" });

/** A page of the log. */
export const LogPage = z
  .object({ events: z.array(LogEvent).meta({ description: "Oldest first." }), nextCursor: cursor })
  .meta({ id: "EventPage", description: "A page of the event log." });

/** One message of the stream. Its id is the same cursor. */
export const LogMessage = z
  .object({
    event: LogEvent.nullable().meta({ description: "Null: nothing happened, but the cursor has moved." }),
    nextCursor: cursor,
  })
  .meta({ id: "LogMessage", description: "One message of the event stream, over typed RPC." });
export type LogMessage = z.infer<typeof LogMessage>;
