import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The files that take longest, in seconds on two quiet cores. A worker that starts one of them last works alone at the end. */
const secondsOf: Record<string, number> = {
  "test/store/ledger/property.test.ts": 20,
  "test/hostile/hostile.test.ts": 18,
  "test/start/processes.test.ts": 30,
  "test/jobs/killedWorker.test.ts": 33,
  "test/start/roles.test.ts": 29,
  "test/http/pages.test.ts": 28,
  "test/readme.test.ts": 24,
  "test/repeats/everyOperation.test.ts": 20,
  "test/http/walks.test.ts": 10,
  "test/procedures/payouts/payouts.test.ts": 16,
  "test/market/processorEvents/polling.test.ts": 15,
  "test/start/databaseOutage.test.ts": 15,
  "test/auth/passwords.test.ts": 14,
  "test/http/inputBounds.test.ts": 11,
  "test/http/overload.test.ts": 11,
  "test/webhooks/killedWorkers.test.ts": 13,
  "test/webhooks/delivery.test.ts": 11,
  "test/jobs/promptness.test.ts": 11,
  "test/commands/moderator.test.ts": 11,
  "test/market/processorEvents/processorEvents.test.ts": 10,
};

/** Starts the longest files first, so that all workers end at about the same time. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const seconds = ({ moduleId }: TestSpecification) => secondsOf[relative(process.cwd(), moduleId)] ?? 0;
    return files.toSorted((a, b) => seconds(b) - seconds(a));
  }
}
