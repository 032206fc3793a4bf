import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";

const Cost = z.object({ apiMs: z.number(), databaseMs: z.number() });

/** What `npm run bench costs` and `npm run bench partitions` have measured. */
const Costs = z.object({
  measuredOn: z.object({
    ...{ date: z.string(), processor: z.string(), cores: z.number(), node: z.string(), postgres: z.string() },
    tasks: z.number(),
  }),
  /** CPU time of one request, by operation. */
  operations: z.record(z.string(), Cost),
  lifecycle: Cost.extend({
    lifecycles: z.number(),
    workerMs: z.number(),
    /** What one lifecycle adds, with indexes. */
    tables: z.array(z.object({ table: z.string(), bytes: z.number(), rows: z.number() })),
  }),
  /** CPU time of numbering one event. */
  numberingMs: z.number(),
  partitions: z.object({
    rows: z.number(),
    ledger: z.record(
      z.string(),
      z.object({
        ...{ pageMicroseconds: z.number(), transferMicroseconds: z.number(), insertMicroseconds: z.number() },
        ...{ bytesPerRow: z.number(), reindexSeconds: z.number() },
      }),
    ),
    eventLog: z.record(
      z.string(),
      z.object({
        ...{ followMicroseconds: z.number(), catchUpMicroseconds: z.number(), bytesPerRow: z.number() },
        ...{ dayDroppedInSeconds: z.number(), dayDroppedWalMegabytes: z.number() },
      }),
    ),
  }),
});
export type Costs = z.infer<typeof Costs>;

export const readCosts = (): Costs =>
  Costs.parse(JSON.parse(readFileSync(join(import.meta.dirname, "costs.json"), "utf8")));
