import { type Costs, readCosts } from "./costs.ts";
import { bytesForGood, isForGood, LARGE_SERVER_CORES, modelOf, rowsOf } from "./model.ts";

type Cell = string | number;

/** A table in Markdown; all columns but the first are figures. */
function table(head: Cell[], rows: Cell[][]): string {
  const line = (cells: Cell[]) => `| ${cells.join(" | ")} |`;
  return [line(head), `|---|${"---:|".repeat(head.length - 1)}`, ...rows.map(line)].join("\n");
}

const figure = (value: number) => {
  const digits = value >= 100 ? 0 : Math.max(0, 2 - Math.floor(Math.log10(Math.max(value, 0.001))));
  return value.toLocaleString("en", { maximumFractionDigits: Math.min(3, digits) });
};

/** Two digits: the rest would be false precision. */
const about = (value: number) => Number(value.toPrecision(2));

const size = (bytes: number) => {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  const unit = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(bytes) / 3)));
  return `${figure(bytes / 1000 ** unit)} ${units[unit]}`;
};

const RATES = [10, 1_000, 100_000];
const BILLION = 1e9;

/** The tables of the guide "Growing", by the name in `<!-- figures NAME -->`. */
export function figuresOf(name: string): string | undefined {
  const costs = readCosts();
  const tables: Record<string, string> = { ...measured(costs), ...computed(costs), ...partitioned(costs) };
  return tables[name];
}

function measured(costs: Costs) {
  const { lifecycle, measuredOn } = costs;
  return {
    machine:
      `Measured on ${measuredOn.date}, on ${measuredOn.cores} cores (${measuredOn.processor}) with Node.js ${measuredOn.node} and ` +
      `PostgreSQL ${measuredOn.postgres}, over ${figure(measuredOn.tasks)} tasks.`,
    operations: table(
      ["One request", "API, ms", "Database, ms"],
      Object.entries(costs.operations).map(([operation, { apiMs, databaseMs }]) => [
        `\`${operation.split(",")[0]}\`${operation.includes(",") ? `,${operation.split(",")[1]}` : ""}`,
        figure(apiMs),
        figure(databaseMs),
      ]),
    ),
    lifecycle: table(
      ["One lifecycle", "CPU time, ms"],
      [
        ["API: eight requests", figure(lifecycle.apiMs)],
        ["Worker", figure(lifecycle.workerMs)],
        ["Database, for both", figure(lifecycle.databaseMs)],
        ["Numbering one event", figure(costs.numberingMs)],
      ],
    ),
    bytes: table(
      ["Table", "Rows", "Bytes", "Kept"],
      [
        ...lifecycle.tables.map(({ table, rows, bytes }) => [
          `\`${table}\``,
          figure(rows),
          figure(bytes),
          isForGood(table) ? "for good" : "for a time",
        ]),
        ["All that is kept for good", "", figure(bytesForGood(costs)), ""],
      ],
    ),
  };
}

function computed(costs: Costs) {
  const model = modelOf(costs);
  const needs = RATES.map((rate) => model.needs(rate));
  const { lifecycle } = costs;
  const lifecycles = BILLION / rowsOf(costs, "ledger_entries");
  return {
    arithmetic: table(
      ["Average request", "Figure"],
      [
        ["API", `${figure(model.apiMs)} ms`],
        ["Database", `${figure(model.databaseMs)} ms`],
        ["of which standbys can answer", `${figure(model.publicMs)} ms`],
        ["One API process, at 60 %", `${figure(about(model.perProcess))} a second`],
        [
          `A primary of ${LARGE_SERVER_CORES} cores, at 60 %`,
          `${figure(about(model.primary(LARGE_SERVER_CORES)))} a second`,
        ],
        ["The same, with standbys", `${figure(about(model.primary(LARGE_SERVER_CORES, true)))} a second`],
        ["Numbering of events, at 60 %", `${figure(about(model.numbering))} a second`],
      ],
    ),
    needs: table(
      ["Requests a second", ...RATES.map(figure)],
      [
        ["API processes", ...needs.map(({ api }) => figure(api))],
        ["Worker processes", ...needs.map(({ workers }) => figure(workers))],
        ["Connections in their pools", ...needs.map(({ connections }) => figure(connections))],
        ["of which busy", ...needs.map(({ busy }) => figure(busy))],
        ["Cores of the primary", ...needs.map(({ primaryCores }) => figure(primaryCores))],
        ["or, with standbys", ...needs.map((need) => figure(need.primaryCoresWithStandbys))],
        ["and cores of all standbys", ...needs.map(({ standbyCores }) => figure(standbyCores))],
        ["Ledger entries a day", ...needs.map(({ entriesPerDay }) => figure(entriesPerDay))],
        ["Stored for good a day", ...needs.map(({ bytesPerDay }) => size(bytesPerDay))],
      ],
    ),
    billion: table(
      ["A billion ledger entries", "Figure"],
      [
        ["Lifecycles", figure(lifecycles)],
        ...["ledger_entries", "ledger_transfers", "tasks", "bids"].map((name) => [
          `\`${name}\``,
          size(lifecycles * (lifecycle.tables.find(({ table }) => table === name)?.bytes ?? 0)),
        ]),
        ["All that is kept for good", size(lifecycles * bytesForGood(costs))],
      ],
    ),
  };
}

function partitioned({ partitions }: Costs) {
  return {
    ledger: table(
      [
        "`ledger_entries`",
        "A page of a user's, µs",
        "One movement, µs",
        "Inserting two, µs",
        "Bytes an entry",
        "Reindexing a piece, s",
      ],
      Object.entries(partitions.ledger).map(([name, measured]) => [
        name,
        ...[measured.pageMicroseconds, measured.transferMicroseconds, measured.insertMicroseconds].map(figure),
        ...[measured.bytesPerRow, measured.reindexSeconds].map(figure),
      ]),
    ),
    log: table(
      [
        "`event_log_entries`",
        "Following, µs",
        "Catching up on 30 days, µs",
        "Deleting a day, s",
        "Its write-ahead log, MB",
      ],
      Object.entries(partitions.eventLog).map(([name, measured]) => [
        name,
        ...[measured.followMicroseconds, measured.catchUpMicroseconds].map(figure),
        ...[measured.dayDroppedInSeconds, measured.dayDroppedWalMegabytes].map(figure),
      ]),
    ),
    rows: `Each table had ${figure(partitions.rows)} rows.`,
  };
}
