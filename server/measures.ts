import { Counter, collectDefaultMetrics, Histogram, Registry } from "prom-client";
import { ProcessorRefused } from "./gateways/processorErrors.ts";

/** Upper bounds in seconds. Few, because each is a time series for every combination of labels. */
export const DURATION_BUCKETS = [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

/** What this process has done, whatever its role: one registry for the process, because that is what Prometheus asks. */
export const processRegistry = new Registry();

collectDefaultMetrics({ register: processRegistry });
// Gauges, whose names end like those of counters. The sums of `nodejs_active_handles` and the others say the same.
for (const kind of ["handles", "requests", "resources"]) {
  processRegistry.removeSingleMetric(`nodejs_active_${kind}_total`);
}

const options = { buckets: DURATION_BUCKETS, registers: [processRegistry] };

const jobs = new Histogram({
  name: "rebid_job_duration_seconds",
  help: "Duration of the runs of jobs by this process, by kind and outcome: done or failed.",
  labelNames: ["job", "outcome"],
  ...options,
});
const outsideCalls = new Histogram({
  name: "rebid_outside_call_duration_seconds",
  help: "Duration of calls to the payment processor, the object store and the mail server, by part, call and outcome: done, refused by the processor, or failed.",
  labelNames: ["part", "call", "outcome"],
  ...options,
});
const statements = new Histogram({
  name: "rebid_statement_duration_seconds",
  help: "Duration of statements, from their sending to their answer.",
  ...options,
});
const failedStatements = new Counter({
  name: "rebid_statements_failed_total",
  help: "Statements that the database refused, or did not answer.",
  registers: [processRegistry],
});
const webhooks = new Histogram({
  name: "rebid_webhook_attempt_duration_seconds",
  help: "Duration of attempts to deliver a webhook, by outcome: succeeded, retry, rejected or gone.",
  labelNames: ["outcome"],
  ...options,
});

/** Runs `work`, and hands its duration in seconds and its outcome to `observe`. */
async function timed<Result>(
  work: () => Promise<Result>,
  observe: (outcome: "done" | "failed", seconds: number, error?: unknown) => void,
): Promise<Result> {
  const startMs = performance.now();
  const seconds = () => (performance.now() - startMs) / 1_000;
  try {
    const result = await work();
    observe("done", seconds());
    return result;
  } catch (error) {
    observe("failed", seconds(), error);
    throw error;
  }
}

export const measuredJob = <Result>(job: string, work: () => Promise<Result>) =>
  timed(work, (outcome, seconds) => jobs.observe({ job, outcome }, seconds));

/** A refusal, such as of a transfer that the balance does not cover, is an answer: whoever refuses is there, and knows us. */
export const measuredCall = <Result>(part: string, call: string, work: () => Promise<Result>) =>
  timed(work, (outcome, seconds, error) =>
    outsideCalls.observe({ part, call, outcome: error instanceof ProcessorRefused ? "refused" : outcome }, seconds),
  );

export const measuredStatement = <Result>(work: () => Promise<Result>) =>
  timed(work, (outcome, seconds) => {
    statements.observe(seconds);
    if (outcome === "failed") failedStatements.inc();
  });

export function measureWebhook(outcome: string, milliseconds: number): void {
  webhooks.observe({ outcome }, milliseconds / 1_000);
}
