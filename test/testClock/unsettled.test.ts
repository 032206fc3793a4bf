import { expect, test } from "vitest";
import { createPerson } from "../factories/people.ts";
import { deliveredTask } from "../factories/tasks.ts";
import { rest } from "../setup/client.ts";
import { useService } from "../setup/testService.ts";

const service = useService({ testClock: true });

test("without a worker, the clock moves, and the answer says what is still due", async () => {
  const buyer = await createPerson(service, { cents: 10_000 });
  const { task } = await deliveredTask(buyer, await createPerson(service));
  const answer = await rest(service.url, "POST", "/test/clock", { body: { advance: "49h" } });
  expect(answer.status).toBe(200);
  expect(answer.body.clock.aheadSeconds).toBeCloseTo(49 * 3_600, 0);
  expect(answer.body.settled).toBe(false);
  expect(answer.body.due).toContainEqual({ kind: "deliveriesToAccept", count: 1 });
  // A deadline is judged by the clock, whether or not a worker has noticed it.
  const late = await buyer.post(`/tasks/${task.id}/dispute`, { reason: "It is not what was agreed." });
  expect([late.status, late.body.error]).toEqual([409, "wrong_status"]);
});
