/** A chart of the dashboard, or a number when it has no legend. */
export interface Panel {
  title: string;
  /** PromQL. `$job` is what the dashboard was opened for. */
  expression: string;
  /** What tells one line from another, such as `{{operation}}`. */
  legend?: string;
  /** Grafana's name of the unit, such as `s`. */
  unit: string;
}

export interface Row {
  title: string;
  panels: Panel[];
}

const rate = (metric: string, by: string) => `sum by (${by}) (rate(${metric}{job="$job"}[$__rate_interval]))`;
const quantile = (share: number, metric: string, by: string) =>
  `histogram_quantile(${share}, sum by (le, ${by}) (rate(${metric}_bucket{job="$job"}[$__rate_interval])))`;
/** The database's figures are the same from every process. */
const once = (metric: string, by?: string) => `max${by ? ` by (${by})` : ""} (${metric}{job="$job"})`;

/** What the dashboard shows, from what users notice down to the machine. */
export const rows: Row[] = [
  {
    title: "Users",
    panels: [
      {
        title: "Requests by operation",
        expression: rate("rebid_http_request_duration_seconds_count", "operation"),
        legend: "{{operation}}",
        unit: "reqps",
      },
      {
        title: "Requests by status",
        expression: rate("rebid_http_requests_total", "status"),
        legend: "{{status}}",
        unit: "reqps",
      },
      {
        title: "Request duration, 99th percentile",
        expression: quantile(0.99, "rebid_http_request_duration_seconds", "operation"),
        legend: "{{operation}}",
        unit: "s",
      },
      {
        title: "Refused by rate limit",
        expression: rate("rebid_rate_limited_total", "limit"),
        legend: "{{limit}}",
        unit: "reqps",
      },
    ],
  },
  {
    title: "Market",
    panels: [
      { title: "Tasks", expression: once("rebid_tasks", "status"), legend: "{{status}}", unit: "short" },
      {
        title: "Money of all users, in cents",
        expression: once("rebid_money_cents", "state"),
        legend: "{{state}}",
        unit: "short",
      },
      {
        title: "Payouts under way",
        expression: once("rebid_payouts_unfinished", "state"),
        legend: "{{state}}",
        unit: "short",
      },
      { title: "Payouts are paused", expression: once("rebid_payouts_paused"), unit: "bool_yes_no" },
      { title: "Overdue deadlines", expression: once("rebid_deadlines_overdue"), unit: "short" },
    ],
  },
  {
    title: "Books",
    panels: [
      {
        title: "Discrepancies",
        expression: once("rebid_ledger_discrepancies", "check"),
        legend: "{{check}}",
        unit: "short",
      },
      {
        title: "Time since the last audit",
        expression: `time() - ${once("rebid_ledger_audit_timestamp_seconds")}`,
        unit: "s",
      },
      { title: "The last audit was complete", expression: once("rebid_ledger_audit_complete"), unit: "bool_yes_no" },
    ],
  },
  {
    title: "What waits, and since when",
    panels: [
      { title: "Oldest due job", expression: once("rebid_jobs_oldest_due_seconds"), unit: "s" },
      {
        title: "Oldest event of the payment processor",
        expression: once("rebid_processor_events_oldest_waiting_seconds"),
        unit: "s",
      },
      { title: "Oldest due webhook", expression: once("rebid_webhook_oldest_due_seconds"), unit: "s" },
      {
        title: "Oldest payout by state",
        expression: once("rebid_payouts_oldest_unfinished_seconds", "state"),
        legend: "{{state}}",
        unit: "s",
      },
      { title: "Lag of the event log", expression: once("rebid_event_log_lag_seconds"), unit: "s" },
      { title: "Jobs due", expression: once("rebid_jobs_waiting"), unit: "short" },
      { title: "Jobs that have failed for good", expression: once("rebid_jobs_failed"), unit: "short" },
      { title: "Events of the payment processor", expression: once("rebid_processor_events_waiting"), unit: "short" },
      { title: "Webhooks", expression: once("rebid_webhook_deliveries_pending"), unit: "short" },
      { title: "Payouts whose next step is due", expression: once("rebid_payouts_due"), unit: "short" },
    ],
  },
  {
    title: "Jobs and webhooks",
    panels: [
      {
        title: "Runs of jobs",
        expression: rate("rebid_job_duration_seconds_count", "job, outcome"),
        legend: "{{job}} {{outcome}}",
        unit: "ops",
      },
      {
        title: "Job duration, 99th percentile",
        expression: quantile(0.99, "rebid_job_duration_seconds", "job"),
        legend: "{{job}}",
        unit: "s",
      },
      {
        title: "Attempts of webhooks",
        expression: rate("rebid_webhook_attempt_duration_seconds_count", "outcome"),
        legend: "{{outcome}}",
        unit: "ops",
      },
      {
        title: "Attempt duration, 99th percentile",
        expression: quantile(0.99, "rebid_webhook_attempt_duration_seconds", "outcome"),
        legend: "{{outcome}}",
        unit: "s",
      },
    ],
  },
  {
    title: "Outside",
    panels: [
      {
        title: "Calls",
        expression: rate("rebid_outside_call_duration_seconds_count", "part, call, outcome"),
        legend: "{{part}}.{{call}} {{outcome}}",
        unit: "ops",
      },
      {
        title: "Call duration, 99th percentile",
        expression: quantile(0.99, "rebid_outside_call_duration_seconds", "part, call"),
        legend: "{{part}}.{{call}}",
        unit: "s",
      },
    ],
  },
  {
    title: "Database",
    panels: [
      { title: "Reachable", expression: `min(rebid_database_up{job="$job"})`, unit: "bool_yes_no" },
      {
        title: "Statements",
        expression: rate("rebid_statement_duration_seconds_count", "instance"),
        legend: "{{instance}}",
        unit: "ops",
      },
      {
        title: "Statement duration, 99th percentile",
        expression: quantile(0.99, "rebid_statement_duration_seconds", "instance"),
        legend: "{{instance}}",
        unit: "s",
      },
      {
        title: "Failed statements",
        expression: rate("rebid_statements_failed_total", "instance"),
        legend: "{{instance}}",
        unit: "ops",
      },
      {
        title: "Connections",
        expression: 'rebid_database_pool_connections{job="$job"}',
        legend: "{{instance}} {{pool}}",
        unit: "short",
      },
      {
        title: "Idle connections",
        expression: 'rebid_database_pool_idle{job="$job"}',
        legend: "{{instance}} {{pool}}",
        unit: "short",
      },
      {
        title: "Waiting for a connection",
        expression: 'rebid_database_pool_waiting{job="$job"}',
        legend: "{{instance}} {{pool}}",
        unit: "short",
      },
    ],
  },
  {
    title: "Processes",
    panels: [
      { title: "Up", expression: 'up{job="$job"}', legend: "{{instance}}", unit: "bool_yes_no" },
      {
        title: "Calls under way",
        expression: 'rebid_calls_underway{job="$job"}',
        legend: "{{instance}}",
        unit: "short",
      },
      {
        title: "Calls that wait for another of the same caller",
        expression: 'rebid_calls_waiting{job="$job"}',
        legend: "{{instance}}",
        unit: "short",
      },
      {
        title: "Processor",
        expression: rate("process_cpu_seconds_total", "instance"),
        legend: "{{instance}}",
        unit: "percentunit",
      },
      {
        title: "Memory",
        expression: 'process_resident_memory_bytes{job="$job"}',
        legend: "{{instance}}",
        unit: "bytes",
      },
      {
        title: "Event loop lag, 99th percentile",
        expression: 'nodejs_eventloop_lag_p99_seconds{job="$job"}',
        legend: "{{instance}}",
        unit: "s",
      },
      { title: "Open files", expression: 'process_open_fds{job="$job"}', legend: "{{instance}}", unit: "short" },
    ],
  },
];
