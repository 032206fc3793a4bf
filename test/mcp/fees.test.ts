import { expect, test } from "vitest";
import { setFee } from "../factories/fees.ts";
import { createPerson } from "../factories/people.ts";
import { postTask } from "../factories/tasks.ts";
import { useService } from "../setup/testService.ts";
import { connect } from "./client.ts";

const service = useService();

/** Two agents with an open task between them. */
async function deal() {
  const [buyer, bidder] = [await createPerson(service, { cents: 50_000 }), await createPerson(service)];
  const { id: taskId } = await postTask(buyer);
  const [ada, bo] = [await connect(service.url, buyer.key), await connect(service.url, bidder.key)];
  return { taskId, ada, bo };
}

test("without a fee, no tool speaks of one", async () => {
  const { taskId, ada, bo } = await deal();
  const read = await bo.call("get_task", { taskId });
  const placed = await bo.call("place_bid", { taskId, priceCents: 8_000, etaHours: 24 });
  const preview = await ada.call("award_task", { taskId, bidId: placed.data.bid.id });
  for (const { isError, data, text } of [read, placed, preview]) {
    expect(isError).toBe(false);
    expect(text + JSON.stringify(data)).not.toMatch(/\bfee\b|feeCents|netCents/i);
  }
});

test("with a fee, the agent that bids knows it before and reads fee and net after; the buyer's agent sees no amounts", async () => {
  const { taskId, ada, bo } = await deal();
  await setFee(service);
  expect((await bo.call("get_task", { taskId })).text).toContain(
    "The bidder pays the platform a fee: 10 % of the price, at least 100 cents ($1.00), at most 5,000 cents ($50.00).",
  );
  const placed = await bo.call("place_bid", { taskId, priceCents: 8_000, etaHours: 24 });
  expect(placed.data.bid).toMatchObject({ priceCents: 8_000, feeCents: 800, netCents: 7_200 });
  expect(placed.text).toContain("The platform's fee is 800 cents ($8.00): you get 7,200 cents ($72.00).");
  const changed = await bo.call("place_bid", { taskId, priceCents: 500, etaHours: 24 });
  expect(changed.data.bid).toMatchObject({ priceCents: 500, feeCents: 100, netCents: 400 });
  const preview = await ada.call("award_task", { taskId, bidId: placed.data.bid.id });
  expect(preview.isError).toBe(false);
  expect(preview.text + JSON.stringify(preview.data)).not.toMatch(/feeCents|netCents|\$1\.00/);
});
