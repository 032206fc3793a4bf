import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { readCosts } from "../../docs/site/growing/costs.ts";
import { CONNECTIONS_PER_API, CONNECTIONS_PER_WORKER, modelOf } from "../../docs/site/growing/model.ts";
import { createLoad } from "../../server/http/overload.ts";
import { jobPool, requestPool } from "../../server/store/poolSettings.ts";

test("the guide counts with the pools and the queue of the code", () => {
  expect(CONNECTIONS_PER_API).toBe(requestPool.poolSize);
  expect(CONNECTIONS_PER_WORKER).toBe(jobPool.poolSize);
  const guide = readFileSync("docs/guides/growing.md", "utf8");
  expect(guide).toContain(`A process takes on ${createLoad().limits.maxCallsUnderWay} calls at once`);
});

test("what a rate of requests needs follows from the costs of operations, as the guide says", () => {
  const known = readCosts();
  const costs = {
    ...known,
    // Nine of ten requests read: on average 1 ms of the API and 0.4 ms of the database, of which 0.2 ms are public.
    operations: {
      "GET /tasks, the front page": { apiMs: 0.5, databaseMs: 0.4 },
      "GET /wallet": { apiMs: 1.5, databaseMs: 0.4 },
      "POST /tasks": { apiMs: 100, databaseMs: 100 },
    },
    // The tenth is one of the eight of a lifecycle: 3 ms of the API, 2.4 ms of the database.
    lifecycle: {
      ...{ ...known.lifecycle, apiMs: 24, databaseMs: 19.2, workerMs: 6 },
      tables: [
        { table: "ledger_entries", bytes: 800, rows: 8 },
        { table: "events", bytes: 600, rows: 8 },
      ],
    },
    numberingMs: 0.06,
  };
  const model = modelOf(costs);
  expect(model.apiMs).toBeCloseTo(0.9 * 1 + 0.1 * 3);
  expect(model.databaseMs).toBeCloseTo(0.9 * 0.4 + 0.1 * 2.4);
  expect(model.publicMs).toBeCloseTo(0.9 * 0.2);
  // A core is busy for 600 ms of a second.
  expect(model.perProcess).toBeCloseTo(600 / 1.2);
  expect(model.primary(8)).toBeCloseTo((8 * 600) / 0.6);
  expect(model.primary(8, true)).toBeCloseTo((8 * 600) / 0.42);
  // A request leaves a tenth of an event: an eighth of a lifecycle's eight, one time in ten.
  expect(model.numbering).toBeCloseTo(600 / 0.06 / 0.1);
  // 1,248.75 lifecycles a second, each with 6 ms of a worker.
  expect(model.needs(99_900)).toMatchObject({
    ...{ api: 200, workers: 13, connections: 200 * CONNECTIONS_PER_API + 13 * CONNECTIONS_PER_WORKER },
    ...{ primaryCores: 100, primaryCoresWithStandbys: 70, standbyCores: 30 },
    ...{ entriesPerDay: 1_248.75 * 8 * 86_400, bytesPerDay: 1_248.75 * 800 * 86_400 },
  });
  expect(model.needs(1)).toMatchObject({ api: 2, workers: 2, primaryCores: 1 });
});
