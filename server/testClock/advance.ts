import { setTimeout as sleep } from "node:timers/promises";
import { ApiError } from "../errors.ts";
import { timestampOf } from "../schemas/common.ts";
import { type ClockAdvance, formatDuration, type TestClock } from "../schemas/testClock.ts";
import type { Services, TestClockAccess } from "../services.ts";
import { type ClockMover, withClockMover } from "../store/moveTestClock.ts";
import { countEventsSince } from "../store/outbox.ts";
import { countAttemptsSince } from "../webhooks/due.ts";
import { type DueWork, findNextStop, readDueWork } from "./dueWork.ts";

/** How far the clock can be ahead. Source: docs/contract.md "Test clock". */
const MAX_AHEAD_SECONDS = 10 * 366 * 86_400;
/** After this long, the rest of the way is gone in one step, so that a call with very many deadlines ends, too. */
const STEPPING_MS = 20_000;
/** How long a step waits until everything that fell due is done. */
const SETTLE_MS = 10_000;
/** The pause between two looks, which grows while something takes long. */
const FIRST_POLL_MS = 20;
const LAST_POLL_MS = 250;

/** Returns what the clock of this service shows. */
export function readClock({ clock }: Pick<Services, "clock">): TestClock {
  const { aheadMs } = clock;
  const realNow = clock.real();
  const now = new Date(realNow.getTime() + aheadMs);
  return { now: timestampOf(now), realNow: timestampOf(realNow), aheadSeconds: aheadMs / 1000 };
}

/**
 * Moves the service's time forward, from one time at which something falls due to the next, and lets the workers finish
 * each before it continues. So a delivery is accepted at its deadline, and a webhook's retries come one after the other.
 * Each step is whole in itself. If the process dies, the clock stands at the last one.
 * @throws ApiError `invalid_input` when the clock would be too far ahead
 */
export function advanceClock(services: Services, access: TestClockAccess, seconds: number): Promise<ClockAdvance> {
  return withClockMover(access.databaseUrl, async (mover) => {
    const targetMs = (await mover.readAheadMs()) + seconds * 1000;
    if (targetMs > MAX_AHEAD_SECONDS * 1000) {
      const message = `The clock can be at most ${formatDuration(MAX_AHEAD_SECONDS)} ahead of the real time.`;
      throw new ApiError("invalid_input", { issues: [{ path: "advance", message }] });
    }
    const since = services.clock.now();
    const { due, scheduled } = await walk(services, access, mover, targetMs);
    return {
      clock: readClock(services),
      settled: due.length === 0,
      due,
      events: await countEventsSince(services.database, since),
      webhookAttempts: await countAttemptsSince(services.database, since),
      scheduledJobs: scheduled,
    };
  });
}

async function walk(
  services: Services,
  access: TestClockAccess,
  mover: ClockMover,
  targetMs: number,
): Promise<{ due: DueWork; scheduled: string[] }> {
  const startedMs = performance.now();
  const scheduled = new Set<string>();
  let aheadMs = await mover.readAheadMs();
  let due = await settle(services, access);
  while (aheadMs < targetMs) {
    // What is stuck would only hold up each step.
    const goesOn = due.length === 0 && performance.now() - startedMs < STEPPING_MS;
    const stop = goesOn ? await findNextStop(services, access) : null;
    const nextMs = stop === null ? targetMs : stop.getTime() + 1 - Date.now(); // A stop is rounded down.
    aheadMs = Math.min(targetMs, Math.max(aheadMs + 1, nextMs));
    for (const name of await mover.moveTo(aheadMs)) scheduled.add(name);
    due = await settle(services, access);
  }
  return { due, scheduled: [...scheduled].sort() };
}

/** Waits until nothing is due, for a while. Returns what still is. */
async function settle(services: Services, access: TestClockAccess): Promise<DueWork> {
  const deadline = performance.now() + SETTLE_MS;
  for (let pauseMs = FIRST_POLL_MS; ; pauseMs = Math.min(pauseMs * 1.5, LAST_POLL_MS)) {
    const due = await readDueWork(services, access);
    if (due.length === 0 || performance.now() > deadline) return due;
    if (access.stopping.aborted) throw new ApiError("unavailable", { message: "The service is stopping." });
    await sleep(pauseMs);
  }
}
