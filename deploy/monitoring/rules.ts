import { type Alert, alertsAt, type Pace } from "./alerts.ts";

/** The runbook is a path, because every installation serves its own. */
const annotationsOf = ({ name, summary }: Alert) => ({ summary, runbook: `/docs/alerts#${name.toLowerCase()}` });

/** Returns Prometheus' file of rules. */
export function rules(pace?: Pace) {
  const group = {
    name: "rebid",
    rules: alertsAt(pace).map((alert) => ({
      alert: alert.name,
      expr: alert.expression,
      for: `${alert.forSeconds}s`,
      labels: { severity: alert.severity },
      annotations: annotationsOf(alert),
    })),
  };
  return { groups: [group] };
}

/** A test of promtool: what the alert's example makes of it, long enough after its start. */
function ruleTest(alert: Alert, series: Record<string, string>, fires: boolean) {
  const { name, severity, forSeconds, example } = alert;
  const fired = { exp_labels: { severity, ...example.labels }, exp_annotations: annotationsOf(alert) };
  return {
    name: `${name} ${fires ? "fires" : "does not fire"}`,
    interval: "1m",
    input_series: Object.entries(series).map(([series, values]) => ({ series, values })),
    alert_rule_test: [{ eval_time: `${forSeconds + 300}s`, alertname: name, exp_alerts: fires ? [fired] : [] }],
  };
}

/** Returns promtool's file of tests. */
export function ruleTests() {
  return {
    rule_files: ["rebid.rules.yaml"],
    evaluation_interval: "30s",
    tests: alertsAt().flatMap((alert) => [
      ruleTest(alert, alert.example.quiet, false),
      ruleTest(alert, alert.example.firing, true),
    ]),
  };
}
