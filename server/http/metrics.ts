import { type RequestHandler, Router } from "express";
import { findLastAudit } from "../audit/nightly.ts";
import { countUnfinishedPayouts } from "../market/payouts/unfinished.ts";
import type { Services } from "../services.ts";
import { sql } from "../store/connection.ts";
import { isDatabaseAway } from "../store/databaseErrors.ts";
import { readBacklog } from "../webhooks/backlog.ts";
import { allowOnly } from "./answer.ts";

interface Metric {
  name: string;
  help: string;
  type: "gauge" | "counter";
  samples: { labels?: Record<string, string>; value: number }[];
}

/**
 * For operators: `/metrics` in Prometheus' text format (https://prometheus.io/docs/instrumenting/exposition_formats/),
 * and the count of requests that it shows. What is counted belongs to this process, the rest to the database.
 */
export function metrics(services: Services): Router {
  const requests = new Map<string, number>();
  const count: RequestHandler = (request, response, next) => {
    response.once("finish", () => {
      const key = `${request.method} ${response.statusCode}`;
      requests.set(key, (requests.get(key) ?? 0) + 1);
    });
    next();
  };
  return Router()
    .use(count)
    .get("/metrics", async (_request, response) => {
      const all = [requestsMetric(requests), ...(await databaseMetrics(services))];
      response.type("text/plain; version=0.0.4; charset=utf-8").send(all.map(print).join(""));
    })
    .all("/metrics", allowOnly("GET"));
}

function requestsMetric(requests: Map<string, number>): Metric {
  const samples = [...requests].map(([key, value]) => {
    const [method = "", status = ""] = key.split(" ");
    return { labels: { method, status }, value };
  });
  return { name: "rebid_http_requests_total", help: "Requests answered by this process.", type: "counter", samples };
}

/** What the database knows. While it is away the metrics say so, and what this process counts is shown all the same. */
async function databaseMetrics(services: Services): Promise<Metric[]> {
  const up = (value: number) => gauge("rebid_database_up", "1 when the database answers, else 0.", value);
  try {
    return [
      ...(await auditMetrics(services)),
      ...(await backlogMetrics(services)),
      ...(await payoutMetrics(services)),
      up(1),
    ];
  } catch (error) {
    if (!isDatabaseAway(error)) throw error;
    return [up(0)];
  }
}

const gauge = (name: string, help: string, value = 0): Metric => ({ name, help, type: "gauge", samples: [{ value }] });

/** Before the first audit there is nothing to show: an alert should ask for an old or an absent timestamp. */
async function auditMetrics(services: Services): Promise<Metric[]> {
  const last = await findLastAudit(services);
  if (last === null) return [];
  return [
    {
      name: "rebid_ledger_discrepancies",
      help: "What the last audit of the ledger found to be off, by check.",
      type: "gauge",
      samples: last.report.checks.map(({ name, count }) => ({ labels: { check: name }, value: count })),
    },
    gauge(
      "rebid_ledger_audit_complete",
      "1 when the last audit made all checks, 0 when it could not compare with the payment processor.",
      last.report.notCompared ? 0 : 1,
    ),
    gauge(
      "rebid_ledger_audit_timestamp_seconds",
      "When the last audit of the ledger ended.",
      Date.parse(last.finishedAt) / 1000,
    ),
  ];
}

async function backlogMetrics({ database, clock }: Services): Promise<Metric[]> {
  const [row] = await database.query<{ jobs: number; events: number; payouts: number }>(sql`
    SELECT
      (SELECT count(*) FROM graphile_worker.jobs
        WHERE run_at <= now() AND locked_at IS NULL AND attempts < max_attempts) AS jobs,
      (SELECT count(*) FROM processor_events WHERE processed_at IS NULL) AS events,
      (SELECT count(*) FROM payouts WHERE next_step_at < clock_timestamp()) AS payouts`);
  const now = clock.now();
  const { pending, oldestDueAt } = await readBacklog(database, now);
  const lateSeconds = oldestDueAt === null ? 0 : Math.max(0, (now.getTime() - Date.parse(oldestDueAt)) / 1000);
  return [
    gauge("rebid_jobs_waiting", "Jobs that are due and not yet taken by a worker.", row?.jobs),
    gauge("rebid_processor_events_waiting", "Events of the payment processor not yet applied.", row?.events),
    gauge("rebid_payouts_due", "Payouts whose next step is due.", row?.payouts),
    gauge("rebid_webhook_deliveries_pending", "Webhook deliveries still to be sent, counted up to 10,000.", pending),
    gauge("rebid_webhook_oldest_due_seconds", "How long the oldest due webhook delivery has been due.", lateSeconds),
  ];
}

async function payoutMetrics(services: Services): Promise<Metric[]> {
  const unfinished = await countUnfinishedPayouts(services);
  const byState = (value: "count" | "oldestSeconds") =>
    unfinished.map((payouts) => ({ labels: { state: payouts.state }, value: payouts[value] }));
  return [
    {
      name: "rebid_payouts_unfinished",
      help: "Payouts on their way, by state.",
      type: "gauge",
      samples: byState("count"),
    },
    {
      name: "rebid_payouts_oldest_unfinished_seconds",
      help: "Since when the oldest of them is on its way; 0 when there is none.",
      type: "gauge",
      samples: byState("oldestSeconds"),
    },
  ];
}

function print({ name, help, type, samples }: Metric): string {
  const lines = samples.map(({ labels = {}, value }) => {
    const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`);
    return `${name}${pairs.length > 0 ? `{${pairs.join(",")}}` : ""} ${value}\n`;
  });
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join("")}`;
}

function escapeLabel(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
