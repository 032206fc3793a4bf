import { spawnSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import { z } from "zod";
import { rules } from "../../deploy/monitoring/rules.ts";
import { eventually } from "../setup/processorControl.ts";
import type { useProcesses } from "../setup/serviceProcess.ts";
import { unusedPort } from "../setup/unusedPort.ts";

/** With a value a second, windows and waits of minutes become some seconds. */
const PACE = { timesFaster: 30 };
/** Its day is Prometheus' own, which the test clock cannot move. */
const PACE_OF_A_DAY = { timesFaster: 3_600 };
const ALERTS_OF_A_DAY = ["RebidAuditLate"];

const Alerts = z.object({
  data: z.object({ alerts: z.array(z.object({ labels: z.object({ alertname: z.string() }), state: z.string() })) }),
});
const Series = z.object({
  data: z.object({ result: z.array(z.object({ values: z.array(z.tuple([z.number(), z.string()])) })) }),
});
const Value = z.object({ data: z.object({ result: z.array(z.object({ value: z.tuple([z.number(), z.string()]) })) }) });

/** A Prometheus that scrapes the service every second, with our rules. */
export class Prometheus {
  /** The alerts that have fired so far. */
  readonly fired = new Set<string>();
  readonly #url: string;
  readonly #startedAt = Date.now();

  private constructor(url: string) {
    this.#url = url;
  }

  /** Starts one whose data is in this directory. `ports` are those of the service's metrics, by the name of the process. */
  static async start(
    start: ReturnType<typeof useProcesses>["start"],
    directory: string,
    ports: Record<string, number>,
  ): Promise<Prometheus> {
    if (spawnSync("prometheus", ["--version"]).error) throw new Error("Debian's package `prometheus` is not installed");
    await mkdir(directory);
    await writeFile(join(directory, "prometheus.yaml"), stringify(configuration(ports)));
    await writeFile(join(directory, "rules.yaml"), stringify(fastRules()));
    const port = await unusedPort();
    await start({}, [
      "prometheus",
      `--config.file=${directory}/prometheus.yaml`,
      `--storage.tsdb.path=${directory}/data`,
      `--web.listen-address=127.0.0.1:${port}`,
      "--log.level=warn",
    ]);
    const prometheus = new Prometheus(`http://127.0.0.1:${port}`);
    const isReady = () =>
      fetch(`${prometheus.#url}/-/ready`).then(
        ({ ok }) => ok,
        () => false,
      );
    await eventually(isReady, Boolean);
    return prometheus;
  }

  /** Returns the names of the alerts that fire now. */
  async firing(): Promise<string[]> {
    const { data } = Alerts.parse(await this.#get("alerts"));
    const names = data.alerts.filter(({ state }) => state === "firing").map(({ labels }) => labels.alertname);
    for (const name of names) this.fired.add(name);
    return [...new Set(names)].sort();
  }

  /** Returns the value of an expression, which has at most one now. */
  async valueOf(expression: string): Promise<number | undefined> {
    const { data } = Value.parse(await this.#get(`query?${new URLSearchParams({ query: expression })}`));
    return data.result.length === 0 ? undefined : Number(data.result[0]?.value[1]);
  }

  /** Returns whether an expression has had a value since the start. */
  async hadValue(expression: string): Promise<boolean> {
    const [start, end] = [this.#startedAt, Date.now()].map((atMs) => String(atMs / 1_000));
    const parameters = new URLSearchParams({ query: expression, start: start ?? "", end: end ?? "", step: "1" });
    const { data } = Series.parse(await this.#get(`query_range?${parameters}`));
    return data.result.some(({ values }) => values.some(([, value]) => Number.isFinite(Number(value))));
  }

  async #get(path: string): Promise<unknown> {
    const response = await fetch(`${this.#url}/api/v1/${path}`);
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response.json();
  }
}

const configuration = (ports: Record<string, number>) => ({
  global: { scrape_interval: "1s", scrape_timeout: "1s", evaluation_interval: "1s" },
  rule_files: ["rules.yaml"],
  scrape_configs: [
    {
      job_name: "rebid",
      static_configs: Object.entries(ports).map(([process, port]) => ({
        targets: [`127.0.0.1:${port}`],
        labels: { process },
      })),
    },
  ],
});

function fastRules() {
  const ofADay = ({ alert }: { alert: string }) => ALERTS_OF_A_DAY.includes(alert);
  const pick = (pace: typeof PACE, name: string, belongs: (rule: { alert: string }) => boolean) =>
    rules(pace).groups.map((group) => ({ name, rules: group.rules.filter(belongs) }));
  return { groups: [...pick(PACE, "fast", (rule) => !ofADay(rule)), ...pick(PACE_OF_A_DAY, "a day", ofADay)] };
}
