import { beforeAll, expect, test } from "vitest";
import { acceptDelivery } from "../../../server/market/tasks/acceptDelivery.ts";
import { queryOne, sql } from "../../../server/store/connection.ts";
import {
  awardedWithChecks,
  deliverJudged,
  externalCheck,
  type ReportingKey,
  report,
  reportingKey,
} from "../../factories/checks.ts";
import { createPerson, type TestPerson } from "../../factories/people.ts";
import { changesReason, disputeReason } from "../../factories/tasks.ts";
import type { Answer } from "../../setup/client.ts";
import { clockOf } from "../../setup/testClock.ts";
import { useService } from "../../setup/testService.ts";

const service = useService();
const PRICE_CENTS = 8_000;
let buyer: TestPerson;
let bidder: TestPerson;
let key: ReportingKey;
beforeAll(async () => {
  [buyer, bidder] = await Promise.all([createPerson(service, { cents: 10_000_000 }), createPerson(service)]);
  key = await reportingKey(service, buyer);
});

const inHours = (hours: number) => ({
  ...service.services,
  clock: clockOf(() => new Date(service.clock.now().getTime() + hours * 3_600_000)),
});

interface Scene {
  taskId: string;
  deliveryId: string;
}

async function scene(): Promise<Scene> {
  const agreed = { checks: [externalCheck(key.id)], acceptOnChecks: { afterMinutes: 0 }, revisions: 1 };
  const { task, bid } = await awardedWithChecks(buyer, bidder, { ...agreed, priceCents: PRICE_CENTS });
  return { taskId: task.id, deliveryId: (await deliverJudged(service.services, bidder, bid.id)).id };
}

/** The program reports that all is well, and the job accepts. */
async function checksPay({ taskId, deliveryId }: Scene): Promise<void> {
  await report(service, key, deliveryId);
  await acceptDelivery(inHours(1), { taskId });
}

interface Outcome {
  status: string;
  acceptedBy: string | null;
  acceptsAt: string | null;
}

/** Who acts at the same time, and what the task is if, by its answer, it came first. */
const rivals: Record<string, [act: (scene: Scene) => Promise<Answer | undefined>, won: (outcome: Outcome) => boolean]> =
  {
    "the buyer's acceptance": [
      ({ taskId }) => buyer.post(`/tasks/${taskId}/accept`),
      ({ status, acceptedBy }) => status === "accepted" && acceptedBy === "buyer",
    ],
    "the bidder's dispute": [
      ({ taskId }) => bidder.post(`/tasks/${taskId}/dispute`, { reason: disputeReason }),
      ({ status }) => status === "disputed",
    ],
    "a request for changes": [
      ({ taskId }) => buyer.post(`/tasks/${taskId}/request-changes`, { reason: changesReason }),
      ({ status }) => status === "awarded",
    ],
    // The last report counts, so after one that failed, one that passed may still have come.
    "a report that fails": [
      ({ deliveryId }) => report(service, key, deliveryId, { conclusion: "failed" }),
      ({ status, acceptedBy, acceptsAt }) =>
        status === "delivered" ? acceptsAt === null : status === "accepted" && acceptedBy === "checks",
    ],
    "the clock": [
      async ({ taskId }) => {
        await acceptDelivery(inHours(49), { taskId });
        return undefined;
      },
      ({ status }) => status === "accepted",
    ],
  };

const ends = { accepted: "task.accepted", disputed: "task.disputed", awarded: "task.changes_requested" };

test.each(Object.entries(rivals))(
  "of checks that accept and %s, one wins, and the bidder is paid at most once",
  async (name, [act, won]) => {
    for (let round = 0; round < 6; round++) {
      const at = await scene();
      const both = [() => checksPay(at), () => act(at)] as const;
      const [first, second] = round % 2 === 0 ? both : ([both[1], both[0]] as const);
      const answers = await Promise.all([first(), second()]);
      const answer = answers.find((each) => each !== undefined);
      const task: Outcome = (await buyer.get(`/tasks/${at.taskId}`)).body.task;
      if (answer !== undefined && answer.status >= 300) {
        expect([name, answer.status, answer.body.error]).toEqual([name, 409, "wrong_status"]);
        expect(task).toMatchObject({ status: "accepted", acceptedBy: "checks" });
      } else {
        expect([name, task, won(task)]).toEqual([name, task, true]);
      }
      const { paidCents, accepted, types } = await queryOne<{ paidCents: number; accepted: number; types: string[] }>(
        service.services.database,
        sql`
        SELECT (SELECT coalesce(sum(e.amount_cents), 0)::int FROM ledger_entries e JOIN ledger_transfers l ON l.id = e.transfer_id
                WHERE l.task_id = ${at.taskId}::uuid AND e.kind = 'task_earning' AND e.bucket = 'available') AS "paidCents",
               (SELECT count(*)::int FROM events WHERE task_id = ${at.taskId}::uuid AND type = 'task.accepted') AS accepted,
               (SELECT array_agg(type) FROM events WHERE task_id = ${at.taskId}::uuid) AS types`,
      );
      const isAccepted = task.status === "accepted";
      expect([task.status, paidCents, accepted]).toEqual([
        task.status,
        isAccepted ? PRICE_CENTS : 0,
        isAccepted ? 1 : 0,
      ]);
      for (const [end, type] of Object.entries(ends)) expect(types.includes(type)).toBe(task.status === end);
      if (task.status === "delivered") continue;
      const late = await report(service, key, at.deliveryId);
      expect([late.status, late.body.error]).toEqual([409, "wrong_status"]);
    }
  },
);
