import { expect, test } from "vitest";
import { Lanes } from "../../server/webhooks/lanes.ts";
import { classifyResponse, retryDelaySeconds } from "../../server/webhooks/retries.ts";

const quick = { succeeded: true, durationMs: 5 };
const slow = { succeeded: true, durationMs: 5_000 };
const failed = { succeeded: false, durationMs: 5 };

/** An endpoint, each with a different owner unless one is given. */
const endpointOf = (endpointId: string, ownerId = `owner of ${endpointId}`) => ({ endpointId, ownerId });

/** Completes enough quick requests for the endpoint to reach its highest limit. */
function prove(lanes: Lanes, endpoint: ReturnType<typeof endpointOf>): void {
  for (let count = 0; count < 100; count++) {
    lanes.start(endpoint);
    lanes.finish(endpoint, quick);
  }
}

test("an endpoint may have 4 requests in flight, up to 64 as it answers quickly, 16 when it slows down, 4 when it fails", () => {
  for (const [setback, limit] of [
    [failed, 4],
    [slow, 16],
  ] as const) {
    const lanes = new Lanes();
    expect(lanes.free().others).toBe(4);
    prove(lanes, endpointOf("a"));
    lanes.start(endpointOf("a"));
    lanes.start(endpointOf("a"));
    expect(lanes.free().listed).toEqual({ a: 62 });
    lanes.finish(endpointOf("a"), setback);
    expect(lanes.free().listed).toEqual({ a: limit - 1 });
  }
});

test("an endpoint that succeeds slowly may have up to 16 requests in flight, and stays unproven", () => {
  const lanes = new Lanes();
  for (let count = 0; count < 100; count++) {
    lanes.start(endpointOf("a"));
    lanes.finish(endpointOf("a"), slow);
  }
  lanes.start(endpointOf("a"));
  expect(lanes.free().listed).toEqual({ a: 15 });
  for (let count = 0; count < 255; count++) lanes.start(endpointOf(`other${count}`));
  expect(lanes.free()).toMatchObject({ listed: {}, others: 0 });
});

test("however many endpoints hang, half of the slots stay free for endpoints that are known to be quick", () => {
  const lanes = new Lanes();
  prove(lanes, endpointOf("quick"));
  for (let count = 0; count < 256; count++) lanes.start(endpointOf(`hangs${count % 64}`));
  const free = lanes.free();
  expect(free).toEqual({ listed: { quick: 64 }, others: 0, anyFull: true });

  for (let count = 0; count < 256; count++) lanes.finish(endpointOf(`hangs${count % 64}`), failed);
  expect(lanes.free()).toEqual({ listed: {}, others: 4, anyFull: false });
});

test("a quick endpoint that begins to hang counts as unproven from its first failure on", () => {
  const lanes = new Lanes();
  prove(lanes, endpointOf("a"));
  for (let count = 0; count < 64; count++) lanes.start(endpointOf("a"));
  for (let count = 0; count < 200; count++) lanes.start(endpointOf(`other${count}`));
  expect(lanes.free().others).toBe(4);
  lanes.finish(endpointOf("a"), failed);
  expect(lanes.free().others).toBe(0);
});

test("one owner's endpoints may have 128 requests in flight, plus less than a batch, even if all were quick before they hung", () => {
  const lanes = new Lanes();
  const endpoints = Array.from({ length: 20 }, (_, index) => endpointOf(`hangs${index}`, "one owner"));
  for (const endpoint of endpoints) prove(lanes, endpoint);
  prove(lanes, endpointOf("quick"));
  let inFlight = 0;
  for (let claim = 0; claim < 100; claim++) {
    const { listed, others } = lanes.free();
    let batch = 0;
    for (const endpoint of endpoints) {
      for (let free = listed[endpoint.endpointId] ?? others; free > 0 && batch < 128; free--, batch++)
        lanes.start(endpoint);
    }
    inFlight += batch;
  }
  expect(inFlight).toBeGreaterThanOrEqual(128);
  expect(inFlight).toBeLessThan(128 + 128);

  for (const endpoint of endpoints) lanes.finish(endpoint, failed);
  const { listed, others } = lanes.free();
  expect(listed.quick ?? others).toBe(4);
  expect(listed.new ?? others).toBe(4);
  expect(endpoints.map(({ endpointId }) => listed[endpointId])).toEqual(endpoints.map(() => 0));
});

test("retry delays follow the schedule from its start, ±10 %, and end with it; a replay is not retried", () => {
  const schedule = [30, 120, 600];
  const delays = (random: number) => [3, 2, 1, 0].map((left) => retryDelaySeconds(left, schedule, () => random));
  expect(delays(0.5)).toEqual([30, 120, 600, null]);
  expect(delays(0)).toEqual([27, 108, 540, null]);
  expect(delays(1)).toEqual([33, 132, 660, null]);
  // A delivery from a time when the schedule was longer starts at the beginning of the new one.
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
])("status %s is classified as %s", (statusCode, verdict) => {
  expect(classifyResponse({ statusCode })).toBe(verdict);
});
