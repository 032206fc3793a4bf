import { type Panel, rows } from "./panels.ts";

const WIDTH = 24;
const PANEL = { w: 8, h: 7 };
const ROW_HEIGHT = 1;

interface Place {
  x: number;
  y: number;
  w: number;
  h: number;
}

const datasource = { type: "prometheus", uid: "$datasource" };

const panelOf = ({ title, expression, legend, unit }: Panel, id: number, place: { x: number; y: number }) => ({
  id,
  type: legend === undefined ? "stat" : "timeseries",
  title,
  datasource,
  gridPos: { ...PANEL, ...place },
  fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
  targets: [{ refId: "A", datasource, expr: expression, ...(legend !== undefined && { legendFormat: legend }) }],
});

const rowOf = (title: string, id: number, y: number) => ({
  id,
  type: "row",
  title,
  collapsed: false,
  panels: [],
  gridPos: { x: 0, y, w: WIDTH, h: ROW_HEIGHT },
});

/** Places each row's panels three side by side. */
function layOut() {
  const placed: { gridPos: Place }[] = [];
  let y = 0;
  for (const { title, panels } of rows) {
    placed.push(rowOf(title, placed.length + 1, y));
    y += ROW_HEIGHT;
    for (const [index, panel] of panels.entries()) {
      const column = (index * PANEL.w) % WIDTH;
      const line = Math.floor((index * PANEL.w) / WIDTH);
      placed.push(panelOf(panel, placed.length + 1, { x: column, y: y + line * PANEL.h }));
    }
    y += Math.ceil((panels.length * PANEL.w) / WIDTH) * PANEL.h;
  }
  return placed;
}

/** Returns Grafana's model of the dashboard, to import or to provision. */
export const dashboard = () => ({
  uid: "rebid",
  title: "Rebid",
  tags: ["rebid"],
  schemaVersion: 39,
  editable: true,
  refresh: "30s",
  time: { from: "now-6h", to: "now" },
  templating: {
    list: [
      { name: "datasource", type: "datasource", query: "prometheus", label: "Data source" },
      {
        name: "job",
        type: "query",
        datasource,
        query: { query: "label_values(rebid_database_up, job)", refId: "job" },
        label: "Job",
        refresh: 2,
      },
    ],
  },
  panels: layOut(),
});
