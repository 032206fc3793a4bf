import { expect, test } from "vitest";
import { createLanes } from "../../server/events/lanes.ts";
import { judge, retryDelaySeconds } from "../../server/events/retries.ts";

const quick = { succeeded: true, durationMs: 5 };
const slow = { succeeded: true, durationMs: 5_000 };
const failed = { succeeded: false, durationMs: 5 };

/** Sends and answers until the endpoint has got as many requests at once as it ever will. */
function prove(lanes: ReturnType<typeof createLanes>, endpoint: string): void {
  for (let count = 0; count < 100; count++) {
    lanes.start(endpoint);
    lanes.finish(endpoint, quick);
  }
}

test("an endpoint gets 4 requests at once, up to 64 as it answers quickly, and 4 again when it fails or slows down", () => {
  for (const setback of [failed, slow]) {
    const lanes = createLanes();
    expect(lanes.free().others).toBe(4);
    prove(lanes, "a");
    lanes.start("a");
    lanes.start("a");
    expect(lanes.free().listed).toEqual({ a: 62 });
    lanes.finish("a", setback);
    expect(lanes.free().listed).toEqual({ a: 3 });
  }
});

test("however many endpoints hang, half of the slots stay free for those that are known to be quick", () => {
  const lanes = createLanes();
  prove(lanes, "quick");
  for (let count = 0; count < 256; count++) lanes.start(`hangs${count % 64}`);
  const free = lanes.free();
  expect(free).toEqual({ listed: { quick: 64 }, others: 0, anyFull: true });

  for (let count = 0; count < 256; count++) lanes.finish(`hangs${count % 64}`, failed);
  expect(lanes.free()).toEqual({ listed: {}, others: 4, anyFull: false });
});

test("a quick endpoint that begins to hang counts among the unproven from its first failure on", () => {
  const lanes = createLanes();
  prove(lanes, "a");
  for (let count = 0; count < 64; count++) lanes.start("a");
  for (let count = 0; count < 200; count++) lanes.start(`other${count}`);
  expect(lanes.free().others).toBe(4);
  lanes.finish("a", failed);
  expect(lanes.free().others).toBe(0);
});

test("the retry delays follow the schedule from its start, ±10 %, and end with it; a replay has none", () => {
  const schedule = [30, 120, 600];
  const delays = (random: number) => [3, 2, 1, 0].map((left) => retryDelaySeconds(left, schedule, () => random));
  expect(delays(0.5)).toEqual([30, 120, 600, null]);
  expect(delays(0)).toEqual([27, 108, 540, null]);
  expect(delays(1)).toEqual([33, 132, 660, null]);
  // Deliveries of a time when the schedule was longer.
  expect(retryDelaySeconds(5, schedule, () => 0.5)).toBe(30);
});

test.each([
  [200, "succeeded"],
  [204, "succeeded"],
  [299, "succeeded"],
  [301, "rejected"],
  [400, "rejected"],
  [410, "gone"],
  [499, "rejected"],
  [500, "retry"],
  [599, "retry"],
  [null, "retry"],
])("status %s is %s", (statusCode, verdict) => {
  expect(judge({ statusCode })).toBe(verdict);
});
