import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The files that take longest, in seconds of a run of the whole suite. A worker that starts one of them last works alone at the end. */
const secondsOf: Record<string, number> = {
  "test/start/processes.test.ts": 136,
  "test/docs/examples.test.ts": 120,
  "test/market/actions/availableActions.test.ts": 108,
  "test/start/roles.test.ts": 100,
  "test/console/pages.test.ts": 88,
  "test/store/ledger/property.test.ts": 70,
  "test/console/harm.test.ts": 67,
  "test/readme.test.ts": 64,
  "test/repeats/everyOperation.test.ts": 61,
  "test/console/hostileText.test.ts": 60,
  "test/console/mainJob.test.ts": 58,
  "test/hostile/hostile.test.ts": 51,
  "test/jobs/killedWorker.test.ts": 46,
  "test/start/databaseRoles.test.ts": 45,
  "test/testClock/processes.test.ts": 44,
  "test/docs/inBrowser.test.ts": 43,
  "test/market/processorEvents/processorEvents.test.ts": 37,
  "test/access/matrix.test.ts": 35,
  "test/commands/moderator.test.ts": 34,
  "test/http/inputBounds.test.ts": 32,
  "test/console/account.test.ts": 31,
  "test/local/postgres.test.ts": 30,
  "test/commands/audit.test.ts": 30,
  "test/http/walks.test.ts": 30,
  "test/webhooks/killedWorkers.test.ts": 28,
  "test/procedures/payouts/payouts.test.ts": 27,
  "test/testClock/advance.test.ts": 25,
  "test/webhooks/delivery.test.ts": 25,
  "test/testClock/unsettled.test.ts": 25,
  "test/market/tasks/stateMachine.test.ts": 24,
  "test/procedures/disputes/disputes.test.ts": 24,
  "test/procedures/tasks/races.test.ts": 24,
  "test/http/overload.test.ts": 23,
  "test/commands/arguments.test.ts": 21,
  "test/market/search/search.test.ts": 21,
  "test/http/openApi.test.ts": 20,
  "test/openapi/newProcedure.test.ts": 20,
  "test/commands/production.test.ts": 20,
};

/** Starts the longest files first, so that all workers end at about the same time. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const seconds = ({ moduleId }: TestSpecification) => secondsOf[relative(process.cwd(), moduleId)] ?? 0;
    return files.toSorted((a, b) => seconds(b) - seconds(a));
  }
}
