import { escapeHtml } from "../page.ts";
import { readCosts } from "./costs.ts";
import { CONNECTIONS_PER_API, DIRECT_CONNECTIONS, LARGE_SERVER_CORES, modelOf } from "./model.ts";

const WIDTH = 640;
const HEIGHT = 420;
const LEFT = 72;
const RIGHT = 28;
const TOP = 20;
const BOTTOM = 52;
const PROCESSES = [1, 1_000] as const;
const RATES = [100, 1_000_000] as const;
const SMALL_SERVER_CORES = 8;

const share = (value: number, [from, to]: readonly [number, number]) => Math.log(value / from) / Math.log(to / from);
const x = (processes: number) => Math.round(LEFT + share(processes, PROCESSES) * (WIDTH - LEFT - RIGHT));
const y = (rate: number) => Math.round(HEIGHT - BOTTOM - share(rate, RATES) * (HEIGHT - TOP - BOTTOM));
const decades = ([from, to]: readonly [number, number]) =>
  Array.from({ length: Math.round(Math.log10(to / from)) + 1 }, (_, power) => from * 10 ** power);

const line = (kind: string, ...points: (readonly [number, number])[]) =>
  `<polyline class="${kind}" points="${points.map(([left, top]) => `${left},${top}`).join(" ")}"/>`;
const label = (left: number, top: number, text: string, kind = "") =>
  `<text x="${left}" y="${top}"${kind === "" ? "" : ` class="${kind}"`}>${escapeHtml(text)}</text>`;

/**
 * Draws requests a second against API processes, both in powers of ten, as inline SVG that takes its colours from the site's
 * stylesheet. The thick line is what a service with a large primary reaches; it bends where something else is busy first.
 * @param description what somebody who cannot see the picture is told
 */
export function renderThroughput(description: string): string {
  const model = modelOf(readCosts());
  const [first, last] = PROCESSES;
  const large = `Primary of ${LARGE_SERVER_CORES} cores`;
  // The last three lie close together, so their names stand above, below and beside each other.
  const limits = [
    { name: `Primary of ${SMALL_SERVER_CORES} cores`, rate: model.primary(SMALL_SERVER_CORES), right: 8, down: -5 },
    { name: large, rate: model.primary(LARGE_SERVER_CORES), right: 8, down: 15 },
    { name: `${large}, with standbys`, rate: model.primary(LARGE_SERVER_CORES, true), right: 150, down: -4 },
    { name: "Numbering of events", rate: model.numbering, right: 8, down: -5 },
  ].filter(({ rate }) => rate <= RATES[1]);
  const reached = model.primary(LARGE_SERVER_CORES);
  const bend = reached / model.perProcess;
  const pooler = DIRECT_CONNECTIONS / CONNECTIONS_PER_API;
  const [bottom, right] = [HEIGHT - BOTTOM, WIDTH - RIGHT];
  const parts = [
    ...decades(PROCESSES).map(
      (count) =>
        line("grid", [x(count), TOP], [x(count), bottom]) +
        label(x(count), bottom + 20, count.toLocaleString("en"), "middle"),
    ),
    ...decades(RATES).map(
      (rate) =>
        line("grid", [LEFT, y(rate)], [right, y(rate)]) +
        label(LEFT - 8, y(rate) + 4, rate.toLocaleString("en"), "end"),
    ),
    label((LEFT + right) / 2, HEIGHT - 8, "API processes", "middle"),
    label(LEFT + 8, TOP + 14, "Requests a second"),
    line("limit", [x(pooler), TOP + 24], [x(pooler), bottom]),
    label(x(pooler) + 6, bottom - 10, `${DIRECT_CONNECTIONS} connections: a pooler from here`),
    ...limits.map(({ rate }) => line("limit", [LEFT, y(rate)], [right, y(rate)])),
    ...limits.map(({ name, rate, right, down }) => label(LEFT + right, y(rate) + down, name)),
    line("reached", [x(first), y(model.perProcess)], [x(bend), y(reached)], [x(last), y(reached)]),
    label(x(4), y(model.perProcess * 4) + 22, "The API is busy first", "strong"),
    label(right - 4, y(reached) + 18, "The primary is busy first", "strong end"),
  ];
  return `<figure class="diagram throughput" tabindex="0" role="img" aria-label="${escapeHtml(description.trim())}"><svg viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}">${parts.join("")}</svg></figure>\n`;
}
