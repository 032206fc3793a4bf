import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The files that take longest, in seconds of a run of the whole suite. A worker that starts one of them last works alone at the end. */
const secondsOf: Record<string, number> = {
  "test/start/roles.test.ts": 42,
  "test/testClock/advance.test.ts": 41,
  "test/docs/inBrowser.test.ts": 41,
  "test/start/processes.test.ts": 34,
  "test/store/ledger/property.test.ts": 33,
  "test/jobs/killedWorker.test.ts": 33,
  "test/console/pages.test.ts": 29,
  "test/docs/examples.test.ts": 27,
  "test/market/checks/checks.test.ts": 25,
  "test/docs/firstTask.test.ts": 22,
  "test/console/hostileText.test.ts": 22,
  "test/testClock/unsettled.test.ts": 21,
  "test/console/mainJob.test.ts": 18,
  "test/procedures/payouts/payouts.test.ts": 17,
  "test/market/actions/availableActions.test.ts": 15,
  "test/console/developers.test.ts": 15,
  "test/market/processorEvents/polling.test.ts": 15,
  "test/http/overload.test.ts": 14,
  "test/console/harm.test.ts": 14,
  "test/webhooks/killedWorkers.test.ts": 13,
  "test/jobs/promptness.test.ts": 11,
  "test/webhooks/delivery.test.ts": 11,
  "test/console/account.test.ts": 11,
  "test/http/walks.test.ts": 10,
  "test/market/processorEvents/processorEvents.test.ts": 9,
  "test/http/inputBounds.test.ts": 9,
  "test/local/postgres.test.ts": 9,
  "test/gateways/processor.test.ts": 8,
  "test/local/processor.test.ts": 8,
  "test/hostile/hostile.test.ts": 7,
  "test/start/databaseRoles.test.ts": 7,
  "test/commands/audit.test.ts": 7,
  "test/audit/audit.test.ts": 7,
  "test/repeats/everyOperation.test.ts": 7,
  "test/testClock/processes.test.ts": 7,
  "test/webhooks/stopping.test.ts": 7,
  "test/start/databaseOutage.test.ts": 5,
  "test/http/failures.test.ts": 5,
  "test/local/dataDirectory.test.ts": 5,
  "test/repeats/dryRun.test.ts": 5,
  "test/commands/webhooks.test.ts": 4,
};

/** Starts the longest files first, so that all workers end at about the same time. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const seconds = ({ moduleId }: TestSpecification) => secondsOf[relative(process.cwd(), moduleId)] ?? 0;
    return files.toSorted((a, b) => seconds(b) - seconds(a));
  }
}
