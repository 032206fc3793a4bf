import { spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { alertsAt } from "../../deploy/monitoring/alerts.ts";
import { dashboard } from "../../deploy/monitoring/dashboard.ts";
import { rows } from "../../deploy/monitoring/panels.ts";
import { rules, ruleTests } from "../../deploy/monitoring/rules.ts";
import { auditLedger } from "../../server/audit/nightly.ts";
import { rest } from "../setup/client.ts";
import { useService } from "../setup/testService.ts";

const directory = "deploy/monitoring";
const service = useService();

/** What Prometheus makes by itself. */
const OF_PROMETHEUS = ["up"];
const namesIn = (promql: string) =>
  new Set(promql.replaceAll(/\{[^}]*\}|by \([^)]*\)/g, "").match(/\b(?:rebid|process|nodejs)_\w+|\bup\b/g));

test("every metric that an alert or a panel names is one of the service's", async () => {
  await auditLedger(service.services);
  const metrics = async () => (await rest(service.url, "GET", "/metrics")).text;
  await expect.poll(metrics).toContain("rebid_tasks{");
  const known = new Set(
    [...(await metrics()).matchAll(/^# TYPE (\S+) (\S+)/gm)].flatMap(([, name, type]) =>
      type === "histogram" ? [`${name}_bucket`, `${name}_count`, `${name}_sum`] : [name],
    ),
  );
  const expressions = [...alertsAt(), ...rows.flatMap(({ panels }) => panels)].map(({ expression }) => expression);
  const named = new Set(expressions.flatMap((expression) => [...namesIn(expression)]));
  expect(named.size).toBeGreaterThan(30);
  expect([...named].filter((name) => !known.has(name) && !OF_PROMETHEUS.includes(name))).toEqual([]);
});

test("the page of alerts says of each alert what to do", async () => {
  const page = await readFile("docs/guides/alerts.md", "utf8");
  const sections = page.split(/^## /m).slice(1);
  expect(sections.map((section) => section.split("\n", 1)[0])).toEqual(alertsAt().map(({ name }) => name));
  for (const section of sections) expect(section).toMatch(/^1\. /m);
});

test("each panel of the dashboard has a place of its own", () => {
  const places = dashboard().panels.map(({ gridPos: { x, y, w, h } }) => ({ x, y, right: x + w, bottom: y + h }));
  for (const [index, a] of places.entries()) {
    expect(a.right).toBeLessThanOrEqual(24);
    for (const b of places.slice(index + 1)) {
      expect(a.x < b.right && b.x < a.right && a.y < b.bottom && b.y < a.bottom).toBe(false);
    }
  }
});

/** Debian's package `prometheus` has it. CI installs it. */
const hasPromtool = spawnSync("promtool", ["--version"]).error === undefined;

test.skipIf(!hasPromtool)("promtool accepts the rules, and its tests of every alert pass", () => {
  for (const [what, file] of [
    ["check", "rebid.rules.yaml"],
    ["test", "rebid.rules.test.yaml"],
  ] as const) {
    const { status, stdout, stderr } = spawnSync("promtool", [what, "rules", file], {
      cwd: directory,
      encoding: "utf8",
    });
    expect([status, stderr], stdout).toEqual([0, ""]);
  }
  expect(ruleTests().tests).toHaveLength(2 * rules().groups.flatMap((group) => group.rules).length);
});
