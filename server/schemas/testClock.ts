import { z } from "zod";
import { Timestamp } from "./common.ts";
import { must } from "./messages.ts";

const secondsOf = { w: 604_800, d: 86_400, h: 3_600, m: 60, s: 1 } as const;
const pattern = /^(\d{1,9}w)?(\d{1,9}d)?(\d{1,9}h)?(\d{1,9}m)?(\d{1,9}s)?$/;

/** Returns the seconds of a duration such as `49h` or `2d12h`; null if it is none, or nothing. */
export function parseDuration(text: string): number | null {
  const [matched, ...parts] = pattern.exec(text) ?? [];
  if (matched === undefined) return null;
  const units = Object.values(secondsOf);
  const seconds = parts.reduce((sum, part, index) => sum + Number.parseInt(part ?? "0", 10) * (units[index] ?? 0), 0);
  return seconds === 0 ? null : seconds;
}

/** Returns a duration as people read it, such as `2d 1h`; `0s` for less than a second. */
export function formatDuration(seconds: number): string {
  let rest = Math.floor(seconds);
  const parts = Object.entries(secondsOf).flatMap(([unit, size]) => {
    const count = unit === "w" ? 0 : Math.floor(rest / size);
    rest -= count * size;
    return count === 0 ? [] : [`${count}${unit}`];
  });
  return parts.length === 0 ? "0s" : parts.join(" ");
}

/** A length of time as clients send it. */
export const Duration = z
  .string()
  .refine((text) => parseDuration(text) !== null, {
    error: must("be a length of time above zero, such as 49h, 90m or 2d12h (w, d, h, m and s, in this order)"),
  })
  .meta({
    description: "Weeks, days, hours, minutes and seconds, in this order.",
    pattern: pattern.source,
    example: "49h",
  });

export const TestClock = z
  .object({
    now: Timestamp.meta({ description: "The service's time." }),
    realNow: Timestamp.meta({ description: "The real time." }),
    aheadSeconds: z
      .number()
      .meta({ description: "How far the service's time is ahead of the real one.", example: 176_400 }),
  })
  .meta({ id: "TestClock", description: "The clock of a service with embedded services." });
export type TestClock = z.infer<typeof TestClock>;

const Count = z.int32().min(0).meta({ description: "How many.", example: 1 });

/** What work can be due. */
const DueKind = z.enum([
  "deliveriesToAccept",
  "deliveriesToCheck",
  "tasksToExpire",
  "roundsToEnd",
  "agreementsToEnd",
  "suspendedUsers",
  "processorEvents",
  "topups",
  "payouts",
  "events",
  "webhookDeliveries",
  "jobs",
  "paymentProcessor",
]);

const DueWork = z
  .object({ kind: DueKind.meta({ description: "What is due." }), count: Count })
  .meta({ id: "DueWork", description: "Work of one kind that is due." });

const EventCount = z
  .object({ type: z.string().meta({ description: "The type of the events.", example: "task.accepted" }), count: Count })
  .meta({ id: "EventCount", description: "How many events of one type have happened." });

export const ClockAdvance = z
  .object({
    clock: TestClock,
    settled: z.boolean().meta({
      description: "Whether everything that fell due is done. Otherwise `due` says what is left: it is being retried.",
    }),
    due: z.array(DueWork).meta({ description: "What is due and not done; empty if everything is done." }),
    events: z.array(EventCount).meta({ description: "What happened meanwhile, by the type of its event." }),
    webhookAttempts: Count.meta({ description: "How many requests to webhook endpoints were made." }),
    scheduledJobs: z
      .array(z.string().meta({ example: "pruneEvents" }))
      .meta({ description: "The regular jobs that fell due, each once.", example: ["pruneEvents"] }),
  })
  .meta({ id: "ClockAdvance", description: "What a move of the clock has led to." });
export type ClockAdvance = z.infer<typeof ClockAdvance>;
