/** When Prometheus tells somebody, and what about. `npm run monitoring` makes the rules and their tests of it. */
export interface Alert {
  name: string;
  /** `page`: money, data or the service is at risk now. `ticket`: somebody looks at it on the same working day. */
  severity: "page" | "ticket";
  /** One sentence that is true while it fires. What to do is on the page of alerts, under its name. */
  summary: string;
  /** PromQL that has a result while something is wrong. */
  expression: string;
  /** How long it must have been wrong. */
  forSeconds: number;
  example: Example;
}

/** Values, a minute apart in promtool's notation, that do not fire the alert and that do. */
interface Example {
  quiet: Record<string, string>;
  firing: Record<string, string>;
  /** The labels that the alert has then, besides its severity. */
  labels?: Record<string, string>;
}

/**
 * Waits are so many times shorter when `npm run check:alerts` fires each alert. Thresholds that are ages, windows of rates and
 * `forSeconds` are waits.
 */
export interface Pace {
  timesFaster: number;
}

/** Calls that wait for something to happen, as they should. */
const WAITING_CALLS = "events[.].*|mcp|mcp[.]wait_for_events|other";

/** States in which a payout waits for nobody but us: it leaves them within seconds. */
const UNSENT_PAYOUTS = "created|transferred|returning";

/** Returns the alerts, most urgent first. */
export function alertsAt({ timesFaster }: Pace = { timesFaster: 1 }): Alert[] {
  // Prometheus knows no fractions.
  const seconds = (count: number) => Math.ceil(count / timesFaster);
  // A rate needs at least two values, which come once a second where the pace is fast.
  const window = (count: number) => `[${Math.max(4, seconds(count))}s]`;
  const failedShare = (metric: string, window: string, by = "", failed = 'outcome="failed"') =>
    `sum${by} (rate(${metric}{${failed}}${window})) / sum${by} (rate(${metric}${window}))`;

  const alerts: Alert[] = [
    {
      name: "RebidDatabaseUnreachable",
      severity: "page",
      summary: "No process of Rebid reaches the database.",
      expression: "max(rebid_database_up) == 0",
      forSeconds: 30,
      example: {
        quiet: { "rebid_database_up{instance='a'}": "0x9", "rebid_database_up{instance='b'}": "1x9" },
        firing: { "rebid_database_up{instance='a'}": "0x9", "rebid_database_up{instance='b'}": "0x9" },
      },
    },
    {
      name: "RebidProcessDown",
      severity: "page",
      summary: "A process of Rebid does not respond.",
      expression: 'up{job="rebid"} == 0',
      forSeconds: 60,
      example: {
        quiet: { "up{job='rebid', instance='a'}": "0 1x9", "up{job='other', instance='b'}": "0x9" },
        firing: { "up{job='rebid', instance='a'}": "0x9" },
        labels: { job: "rebid", instance: "a" },
      },
    },
    {
      name: "RebidBooksWrong",
      severity: "page",
      summary: "The last audit found that the books do not add up, or differ from the payment processor's.",
      expression: "max by (check) (rebid_ledger_discrepancies) > 0",
      forSeconds: 0,
      example: {
        quiet: { "rebid_ledger_discrepancies{check='sum'}": "0x9" },
        firing: {
          "rebid_ledger_discrepancies{check='sum'}": "2x9",
          "rebid_ledger_discrepancies{check='holds'}": "0x9",
        },
        labels: { check: "sum" },
      },
    },
    {
      name: "RebidServerErrors",
      severity: "page",
      summary: "More than 2 % of the requests are answered with a 5xx status.",
      expression: `${failedShare("rebid_http_requests_total", window(300), "", 'status=~"5.."')} > 0.02`,
      forSeconds: 300,
      example: {
        quiet: {
          "rebid_http_requests_total{status='200'}": "0+100x20",
          "rebid_http_requests_total{status='503'}": "0+1x20",
        },
        firing: {
          "rebid_http_requests_total{status='200'}": "0+100x20",
          "rebid_http_requests_total{status='503'}": "0+5x20",
        },
      },
    },
    {
      name: "RebidJobsLate",
      severity: "page",
      summary: "Jobs are due and no worker takes them.",
      expression: `max(rebid_jobs_oldest_due_seconds) > ${seconds(120)}`,
      forSeconds: 60,
      example: {
        quiet: { rebid_jobs_oldest_due_seconds: "90x9" },
        firing: { rebid_jobs_oldest_due_seconds: "150+60x9" },
      },
    },
    {
      name: "RebidDeadlinesOverdue",
      severity: "page",
      summary: "Tasks are past a deadline, and the clock has not accepted or expired them.",
      expression: "max(rebid_deadlines_overdue) > 0",
      forSeconds: 120,
      example: {
        quiet: { rebid_deadlines_overdue: "0 3 0x9" },
        firing: { rebid_deadlines_overdue: "3x9" },
      },
    },
    {
      name: "RebidProcessorEventsLate",
      severity: "page",
      summary: "Events of the payment processor are not applied: people who paid do not have their money.",
      expression: `max(rebid_processor_events_oldest_waiting_seconds) > ${seconds(300)}`,
      forSeconds: 60,
      example: {
        quiet: { rebid_processor_events_oldest_waiting_seconds: "200x9" },
        firing: { rebid_processor_events_oldest_waiting_seconds: "400+60x9" },
      },
    },
    {
      name: "RebidPayoutsStuck",
      severity: "page",
      summary: "A payout has not reached the payment processor.",
      expression: `max by (state) (rebid_payouts_oldest_unfinished_seconds{state=~"${UNSENT_PAYOUTS}"}) > ${seconds(3_600)}`,
      forSeconds: 300,
      example: {
        quiet: { "rebid_payouts_oldest_unfinished_seconds{state='created'}": "1800x20" },
        firing: { "rebid_payouts_oldest_unfinished_seconds{state='created'}": "3700+60x20" },
        labels: { state: "created" },
      },
    },
    {
      name: "RebidPayoutsPaused",
      severity: "page",
      summary:
        "No payout is sent, because the books have not been compared with the payment processor's since a restore.",
      expression: "max(rebid_payouts_paused) == 1",
      // A worker that finds nothing missing lets payouts go on by itself.
      forSeconds: 600,
      example: {
        quiet: { rebid_payouts_paused: "1x3 0x20" },
        firing: { rebid_payouts_paused: "1x20" },
      },
    },
    {
      name: "RebidEventLogLate",
      severity: "page",
      summary: "Readers of the event log do not see what has happened.",
      expression: `max(rebid_event_log_lag_seconds) > ${seconds(30)}`,
      forSeconds: 60,
      example: {
        quiet: { rebid_event_log_lag_seconds: "10x9" },
        firing: { rebid_event_log_lag_seconds: "40+60x9" },
      },
    },
    {
      name: "RebidOutsideCallsFailing",
      severity: "page",
      summary: "More than a fifth of the calls to the payment processor, the object store or the mail server fail.",
      expression: `${failedShare("rebid_outside_call_duration_seconds_count", window(600), " by (part)")} > 0.2`,
      forSeconds: 300,
      example: {
        quiet: {
          "rebid_outside_call_duration_seconds_count{part='mail', outcome='done'}": "0+9x30",
          "rebid_outside_call_duration_seconds_count{part='mail', outcome='failed'}": "0+1x30",
        },
        firing: {
          "rebid_outside_call_duration_seconds_count{part='mail', outcome='done'}": "0+1x30",
          "rebid_outside_call_duration_seconds_count{part='mail', outcome='failed'}": "0+1x30",
        },
        labels: { part: "mail" },
      },
    },
    {
      name: "RebidAuditLate",
      severity: "ticket",
      summary: "The books have not been audited for 26 hours, or never.",
      // Before the first audit, it is the time of the installation, which is audited in its first night.
      expression: `time() - max(rebid_ledger_audit_timestamp_seconds) > ${seconds(26 * 3_600)}`,
      forSeconds: 3_600,
      example: {
        // A test of promtool begins at the time 0.
        quiet: { rebid_ledger_audit_timestamp_seconds: "-80000x90" },
        firing: { rebid_ledger_audit_timestamp_seconds: "-100000x90" },
      },
    },
    {
      name: "RebidAuditIncomplete",
      severity: "ticket",
      summary: "The last audit could not compare the books with the payment processor's.",
      expression: "min(rebid_ledger_audit_complete) == 0",
      forSeconds: 0,
      example: {
        quiet: { rebid_ledger_audit_complete: "1x9" },
        firing: { rebid_ledger_audit_complete: "0x9" },
      },
    },
    {
      name: "RebidSlowResponses",
      severity: "ticket",
      summary: "One request in a hundred takes longer than a second.",
      expression: `histogram_quantile(0.99, sum by (le) (rate(rebid_http_request_duration_seconds_bucket{operation!~"${WAITING_CALLS}"}${window(300)}))) > 1`,
      forSeconds: 600,
      example: {
        quiet: {
          "rebid_http_request_duration_seconds_bucket{operation='tasks.list', le='0.5'}": "0+10x30",
          "rebid_http_request_duration_seconds_bucket{operation='tasks.list', le='2.5'}": "0+10x30",
          "rebid_http_request_duration_seconds_bucket{operation='tasks.list', le='+Inf'}": "0+10x30",
        },
        firing: {
          "rebid_http_request_duration_seconds_bucket{operation='tasks.list', le='0.5'}": "0+5x30",
          "rebid_http_request_duration_seconds_bucket{operation='tasks.list', le='2.5'}": "0+10x30",
          "rebid_http_request_duration_seconds_bucket{operation='tasks.list', le='+Inf'}": "0+10x30",
        },
      },
    },
    {
      name: "RebidPayoutsUnfunded",
      severity: "ticket",
      summary: "A payout has waited for a day for money on the platform's balance at the payment processor.",
      expression: `max(rebid_payouts_oldest_unfinished_seconds{state="unfunded"}) > ${seconds(86_400)}`,
      forSeconds: 300,
      example: {
        quiet: { "rebid_payouts_oldest_unfinished_seconds{state='unfunded'}": "80000x9" },
        firing: { "rebid_payouts_oldest_unfinished_seconds{state='unfunded'}": "86401+60x9" },
      },
    },
    {
      name: "RebidJobsFailed",
      severity: "ticket",
      summary: "Jobs have failed as often as they may, and wait for somebody.",
      expression: "max(rebid_jobs_failed) > 0",
      forSeconds: 0,
      example: { quiet: { rebid_jobs_failed: "0x9" }, firing: { rebid_jobs_failed: "1x9" } },
    },
    {
      name: "RebidWebhooksLate",
      severity: "ticket",
      summary: "Webhooks are due and not sent.",
      expression: `max(rebid_webhook_oldest_due_seconds) > ${seconds(300)}`,
      forSeconds: 60,
      example: {
        quiet: { rebid_webhook_oldest_due_seconds: "100x9" },
        firing: { rebid_webhook_oldest_due_seconds: "310+60x9" },
      },
    },
    {
      name: "RebidWebhooksFailing",
      severity: "ticket",
      summary: "More than half of the attempts to deliver webhooks fail.",
      expression: `${failedShare("rebid_webhook_attempt_duration_seconds_count", window(1_800), "", 'outcome!="succeeded"')} > 0.5`,
      forSeconds: 900,
      example: {
        quiet: {
          "rebid_webhook_attempt_duration_seconds_count{outcome='succeeded'}": "0+9x60",
          "rebid_webhook_attempt_duration_seconds_count{outcome='retry'}": "0+1x60",
        },
        firing: {
          "rebid_webhook_attempt_duration_seconds_count{outcome='succeeded'}": "0+1x60",
          "rebid_webhook_attempt_duration_seconds_count{outcome='retry'}": "0+9x60",
        },
      },
    },
    {
      name: "RebidPoolExhausted",
      severity: "ticket",
      summary: "Queries wait for a connection to the database.",
      expression: "rebid_database_pool_waiting > 0",
      forSeconds: 300,
      example: {
        quiet: { "rebid_database_pool_waiting{instance='a', pool='jobs'}": "3 0x9" },
        firing: { "rebid_database_pool_waiting{instance='a', pool='jobs'}": "3x9" },
        labels: { instance: "a", pool: "jobs" },
      },
    },
    {
      name: "RebidEventLoopBlocked",
      severity: "ticket",
      summary: "A process is too busy to take up requests within half a second.",
      expression: "nodejs_eventloop_lag_p99_seconds > 0.5",
      forSeconds: 300,
      example: {
        quiet: { "nodejs_eventloop_lag_p99_seconds{instance='a'}": "0.1x9" },
        firing: { "nodejs_eventloop_lag_p99_seconds{instance='a'}": "0.7x9" },
        labels: { instance: "a" },
      },
    },
    {
      name: "RebidRestarting",
      severity: "ticket",
      summary: "A process has started more than twice in half an hour.",
      expression: `changes(process_start_time_seconds{job="rebid"}${window(1_800)}) > 2`,
      forSeconds: 0,
      example: {
        quiet: { "process_start_time_seconds{job='rebid', instance='a'}": "1x5 2x20" },
        firing: { "process_start_time_seconds{job='rebid', instance='a'}": "1 2 3 4x20" },
        labels: { job: "rebid", instance: "a" },
      },
    },
  ];
  return alerts.map((alert) => ({ ...alert, forSeconds: seconds(alert.forSeconds) }));
}
