import { z } from "zod";
import { findWindingDown } from "../market/accounts/windDown.ts";
import { findLapsedAgreements } from "../market/agreements/lapse.ts";
import { findUnchecked } from "../market/checks/checkDelivery.ts";
import { findDuePayouts } from "../market/payouts/advance.ts";
import { findUnprocessedEvents } from "../market/processorEvents/apply.ts";
import { findDueDeliveries } from "../market/tasks/acceptDelivery.ts";
import { findOverdueTasks } from "../market/tasks/expireTask.ts";
import { findNextDeadline } from "../market/tasks/nextDeadline.ts";
import { findOverdueRounds } from "../market/tasks/rounds.ts";
import { findUnsettledTopups } from "../market/topups/check.ts";
import type { ClockAdvance } from "../schemas/testClock.ts";
import type { Services, TestClockAccess } from "../services.ts";
import { countDueJobs } from "../store/queue.ts";
import { readDueDeliveries } from "../webhooks/due.ts";

export type DueWork = ClockAdvance["due"];

/** Items of one kind are counted up to here. */
const MAX_COUNTED = 1_000;

/** What the embedded processor's `GET /test/schedule` returns. */
const ProcessorSchedule = z.object({ due: z.int(), nextDueMs: z.number().nullable() });

async function readProcessorSchedule({ processorUrl }: TestClockAccess) {
  const response = await fetch(`${processorUrl}/test/schedule`);
  return ProcessorSchedule.parse(await response.json());
}

/** Returns what is due by the service's clock and not done, by the same questions that the sweeps ask. */
export async function readDueWork(services: Services, access: TestClockAccess): Promise<DueWork> {
  const { database, clock } = services;
  const found = async (items: Promise<object[]>) => (await items).length;
  const webhooks = await readDueDeliveries(database, clock.now());
  const due: DueWork = [
    { kind: "paymentProcessor", count: (await readProcessorSchedule(access)).due },
    { kind: "deliveriesToAccept", count: await found(findDueDeliveries(services, MAX_COUNTED, null)) },
    { kind: "deliveriesToCheck", count: await found(findUnchecked(services, MAX_COUNTED, null)) },
    { kind: "tasksToExpire", count: await found(findOverdueTasks(services, MAX_COUNTED, null)) },
    { kind: "roundsToEnd", count: await found(findOverdueRounds(services, MAX_COUNTED, null)) },
    { kind: "agreementsToEnd", count: await found(findLapsedAgreements(services, MAX_COUNTED, null)) },
    { kind: "suspendedUsers", count: await found(findWindingDown(services, MAX_COUNTED, null)) },
    { kind: "processorEvents", count: await found(findUnprocessedEvents(services, MAX_COUNTED)) },
    { kind: "topups", count: await found(findUnsettledTopups(services, MAX_COUNTED)) },
    { kind: "payouts", count: await found(findDuePayouts(services, MAX_COUNTED)) },
    { kind: "events", count: webhooks.events },
    { kind: "webhookDeliveries", count: webhooks.deliveries },
    { kind: "jobs", count: await countDueJobs(database) },
  ];
  return due.filter(({ count }) => count > 0);
}

/**
 * Returns the next time at which something happens that others see and that may lead to more: a task's deadline, a webhook's
 * retry, or a step of the payment processor. Polls are no such time: there are many, and what they find has its own event.
 */
export async function findNextStop(services: Services, access: TestClockAccess): Promise<Date | null> {
  const { nextDueMs } = await readProcessorSchedule(access);
  const stops = [
    await findNextDeadline(services),
    (await readDueDeliveries(services.database, services.clock.now())).nextRetryAt,
    nextDueMs === null ? null : new Date(nextDueMs),
  ].filter((stop) => stop !== null);
  return stops.length === 0 ? null : new Date(Math.min(...stops.map((stop) => stop.getTime())));
}
