import { SpanKind } from "@opentelemetry/api";
import type { JobHelpers, TaskList } from "graphile-worker";
import type { z } from "zod";
import { auditLedger } from "../audit/nightly.ts";
import { sendAccountMail } from "../auth/accountMails.ts";
import { pruneAccounts } from "../auth/prune.ts";
import { resealFactors } from "../auth/secondFactor.ts";
import { pruneEvents } from "../events/prune.ts";
import { startSequencer } from "../events/sequencer.ts";
import { pruneRateLimits } from "../limits/limiter.ts";
import { windDown } from "../market/accounts/windDown.ts";
import { lapseAgreement } from "../market/agreements/lapse.ts";
import { checkDelivery } from "../market/checks/checkDelivery.ts";
import { makeExport } from "../market/papers/makeExport.ts";
import { pruneExports } from "../market/papers/pruneExports.ts";
import { advancePayout } from "../market/payouts/advance.ts";
import { applyProcessorEvent } from "../market/processorEvents/apply.ts";
import { prunePayments } from "../market/prunePayments.ts";
import { acceptDelivery } from "../market/tasks/acceptDelivery.ts";
import { endOverdueRound } from "../market/tasks/endOverdueRound.ts";
import { expireTask } from "../market/tasks/expireTask.ts";
import { sweepUploads } from "../market/uploads/sweep.ts";
import { measuredJob } from "../measures.ts";
import { planDigests, sendDigests } from "../notifications/digests.ts";
import { startNotificationFollower } from "../notifications/follower.ts";
import { mailNews } from "../notifications/news.ts";
import { sendNotificationMail } from "../notifications/sendMail.ts";
import { sendPush } from "../notifications/sendPush.ts";
import { tendMails } from "../notifications/tend.ts";
import type { Services } from "../services.ts";
import { crontab, messageCrontab } from "../store/crontab.ts";
import { type JobName, jobPayloads } from "../store/jobPayloads.ts";
import { pruneFailedJobs, traceParentOf } from "../store/queue.ts";
import { traced } from "../tracing.ts";
import { startDeliverer } from "../webhooks/deliverer.ts";
import { pruneWebhookDeliveries, pruneWebhookEndpoints } from "../webhooks/prune.ts";
import { startRunner } from "./runner.ts";
import { startSweeps } from "./sweeps.ts";

/** Validates the payload before handling a job: the queue may hold jobs written by another version of this code. */
function handler<Payload>(schema: z.ZodType<Payload>, handle: (services: Services, payload: Payload) => Promise<void>) {
  return (services: Services, payload: unknown) => handle(services, schema.parse(payload));
}

/** Telling people, in a lane of its own: thousands of messages must not hold up a deadline. */
const messageHandlers = {
  sendPush: handler(jobPayloads.sendPush, sendPush),
  mailNews: handler(jobPayloads.mailNews, mailNews),
  sendNotificationMail: handler(jobPayloads.sendNotificationMail, sendNotificationMail),
  sendDigests: handler(jobPayloads.sendDigests, sendDigests),
  tendMails: handler(jobPayloads.tendMails, tendMails),
  planDigests: handler(jobPayloads.planDigests, planDigests),
};

const handlers: Record<Exclude<JobName, keyof typeof messageHandlers>, ReturnType<typeof handler>> = {
  acceptDelivery: handler(jobPayloads.acceptDelivery, acceptDelivery),
  checkDelivery: handler(jobPayloads.checkDelivery, checkDelivery),
  expireTask: handler(jobPayloads.expireTask, expireTask),
  endRound: handler(jobPayloads.endRound, endOverdueRound),
  lapseAgreement: handler(jobPayloads.lapseAgreement, lapseAgreement),
  windDown: handler(jobPayloads.windDown, windDown),
  applyProcessorEvent: handler(jobPayloads.applyProcessorEvent, applyProcessorEvent),
  advancePayout: handler(jobPayloads.advancePayout, advancePayout),
  auditLedger: handler(jobPayloads.auditLedger, auditLedger),
  pruneEvents: handler(jobPayloads.pruneEvents, pruneEvents),
  pruneWebhookDeliveries: handler(jobPayloads.pruneWebhookDeliveries, pruneWebhookDeliveries),
  pruneWebhookEndpoints: handler(jobPayloads.pruneWebhookEndpoints, pruneWebhookEndpoints),
  sendAccountMail: handler(jobPayloads.sendAccountMail, sendAccountMail),
  pruneAccounts: handler(jobPayloads.pruneAccounts, pruneAccounts),
  prunePayments: handler(jobPayloads.prunePayments, prunePayments),
  makeExport: handler(jobPayloads.makeExport, makeExport),
  pruneExports: handler(jobPayloads.pruneExports, pruneExports),
  pruneFailedJobs: handler(jobPayloads.pruneFailedJobs, pruneFailedJobs),
  resealFactors: handler(jobPayloads.resealFactors, resealFactors),
  pruneRateLimits: handler(jobPayloads.pruneRateLimits, pruneRateLimits),
  sweepUploads: handler(jobPayloads.sweepUploads, sweepUploads),
};

function taskListOf(services: Services, handlers: Record<string, ReturnType<typeof handler>>): TaskList {
  return Object.fromEntries(
    Object.entries(handlers).map(([name, handle]) => [
      name,
      (payload: unknown, { job }: JobHelpers) =>
        traced(`job ${name}`, () => measuredJob(name, () => handle(services, payload)), {
          kind: SpanKind.CONSUMER,
          parent: traceParentOf(job.flags),
        }),
    ]),
  );
}

/** Messages that one process sends at the same time. They mostly wait for a mail server or a push service. */
const MESSAGE_CONCURRENCY = 4;

/**
 * Runs jobs, sweeps, the delivery and numbering of events, and the telling of people until `stop`, which lets running work
 * finish.
 */
export async function startWorker(
  services: Services,
  options: { concurrency: number },
): Promise<{ stop(): Promise<void> }> {
  const [runner, messages] = await Promise.all([
    startRunner(services, {
      taskList: taskListOf(services, handlers),
      crontab,
      concurrency: options.concurrency,
    }),
    startRunner(services, {
      taskList: taskListOf(services, messageHandlers),
      crontab: messageCrontab,
      concurrency: MESSAGE_CONCURRENCY,
    }),
  ]);
  const sweeps = startSweeps(services);
  const deliverer = startDeliverer(services);
  const follower = startNotificationFollower(services);
  const sequencer = startSequencer({ ...services, onGrowth: follower.wake });
  return {
    async stop() {
      await deliverer.stop();
      await sweeps.stop();
      await sequencer.stop();
      await follower.stop();
      await messages.stop();
      await runner.stop();
    },
  };
}
