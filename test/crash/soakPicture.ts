import type { Kill } from "./killer.ts";
import type { Series } from "./soak.ts";

const WIDTH = 900;
const ROW_HEIGHT = 90;
const LEFT = 20;
const PLOT_TOP = 26;
const PLOT_HEIGHT = 50;

/** Draws every series over the same time, one below the other, each from 0 to its maximum, with a line for each kill, as SVG. */
export function drawSoak(series: readonly Series[], kills: readonly Kill[]): string {
  const times = series.flatMap(({ points }) => points.map(({ at }) => at));
  const [from, to] = [Math.min(...times), Math.max(...times)];
  const x = (at: number) => Math.round(LEFT + ((at - from) / Math.max(1, to - from)) * (WIDTH - 2 * LEFT));
  const height = series.length * ROW_HEIGHT + 40;
  const rows = series.map((one, index) => drawRow(one, index * ROW_HEIGHT, x));
  const marks = kills.map(
    ({ target, at }) =>
      `<line class="${target}" x1="${x(at)}" x2="${x(at)}" y1="0" y2="${height - 34}"><title>${target} killed</title></line>`,
  );
  const minutes = ((to - from) / 60_000).toFixed(0);
  const legend = `${minutes} minutes; lines are kills: grey of Postgres, red of the api, blue of the worker`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}">
<style>
  svg { background: #fff; font: 13px sans-serif; fill: #222 }
  polyline { fill: none; stroke: #222; stroke-width: 1.5 }
  line { stroke: #bbb } line.api { stroke: #d33 } line.worker { stroke: #36c }
</style>
${marks.join("\n")}
${rows.join("\n")}
<text x="${LEFT}" y="${height - 12}">${legend}</text>
</svg>
`;
}

function drawRow({ name, points }: Series, top: number, x: (at: number) => number): string {
  const most = Math.max(...points.map(({ value }) => value), 1);
  const bottom = top + PLOT_TOP + PLOT_HEIGHT;
  const line = points.map(({ at, value }) => `${x(at)},${Math.round(bottom - (value / most) * PLOT_HEIGHT)}`);
  return `<text x="${LEFT}" y="${top + 18}">${name}: at most ${most.toFixed(0)}</text>
<polyline points="${LEFT},${bottom} ${WIDTH - LEFT},${bottom}" style="stroke: #ddd"/>
<polyline points="${line.join(" ")}"/>`;
}
