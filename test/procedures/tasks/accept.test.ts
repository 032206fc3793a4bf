import { expect, test } from "vitest";
import { createPerson } from "../../factories/people.ts";
import { deliveredTask } from "../../factories/tasks.ts";
import { useService } from "../../setup/testService.ts";

const service = useService();

test("an accepted delivery pays the bid's price to the bidder, and the award has already returned the rest to the buyer", async () => {
  const buyer = await createPerson(service, { cents: 50_000 });
  const bidder = await createPerson(service);
  const { task } = await deliveredTask(buyer, bidder, { maxBudgetCents: 10_000, priceCents: 7_500 });
  expect((await buyer.get("/wallet")).body).toEqual({ availableCents: 42_500, heldCents: 7_500 });

  const accepted = await buyer.post(`/tasks/${task.id}/accept`);

  expect(accepted.status).toBe(200);
  expect(accepted.body.task.status).toBe("accepted");
  expect((await buyer.get("/wallet")).body).toEqual({ availableCents: 42_500, heldCents: 0 });
  expect((await bidder.get("/wallet")).body).toEqual({ availableCents: 7_500, heldCents: 0 });
});
