import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test, vi } from "vitest";
import { finalizeUpload } from "../../../server/market/uploads/finalize.ts";
import { finishUpload, takeLease } from "../../../server/market/uploads/lease.ts";
import { sql } from "../../../server/store/connection.ts";
import { createPerson } from "../../factories/people.ts";
import { awardedTask, upload } from "../../factories/tasks.ts";
import { expectError } from "../../setup/expectError.ts";
import { useService } from "../../setup/testService.ts";

const service = useService();

afterEach(() => vi.restoreAllMocks());

async function award() {
  const buyer = await createPerson(service, { cents: 50_000 });
  const bidder = await createPerson(service);
  return { buyer, bidder, bid: (await awardedTask(buyer, bidder)).bid };
}

test("finalising a sample again returns the same sample, and the buyer sees it with a working download link", async () => {
  const { buyer, bidder, bid } = await award();
  const storageKey = await upload(bidder, bid.id, "sample", "a taste");
  const first = await bidder.post(`/bids/${bid.id}/sample/finalize`, { storageKey });
  const again = await bidder.post(`/bids/${bid.id}/sample/finalize`, { storageKey });
  expect(first.status).toBe(201);
  expect(again.body.sample.id).toBe(first.body.sample.id);
  const seen = await buyer.get(`/tasks/${bid.taskId}`);
  expect(seen.body.samples).toHaveLength(1);
  expect(await (await fetch(seen.body.samples[0].downloadUrl)).text()).toBe("a taste");
});

test("finalising a sample several times in parallel makes one copy and one sample, whose bytes can be downloaded", async () => {
  const { buyer, bidder, bid } = await award();
  const storageKey = await upload(bidder, bid.id, "sample", "a taste");
  const copying = vi.spyOn(service.services.storage, "seal");
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => bidder.post(`/bids/${bid.id}/sample/finalize`, { storageKey })),
  );
  expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(201));
  expect(copying).toHaveBeenCalledTimes(1);
  expect(new Set(answers.map(({ body }) => body.sample.id)).size).toBe(1);
  const { samples } = (await buyer.get(`/tasks/${bid.taskId}`)).body;
  expect(samples).toHaveLength(1);
  expect(await (await fetch(samples[0].downloadUrl)).text()).toBe("a taste");
});

test("finalising a delivery several times in parallel delivers once, and the other calls are wrong_status", async () => {
  const { buyer, bidder, bid } = await award();
  const storageKey = await upload(bidder, bid.id, "delivery", "the work");
  const copying = vi.spyOn(service.services.storage, "seal");
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => bidder.post(`/bids/${bid.id}/delivery/finalize`, { storageKey })),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(409)]);
  expect(copying).toHaveBeenCalledTimes(1);
  const { deliveries } = (await buyer.get(`/tasks/${bid.taskId}`)).body;
  expect(await (await fetch(deliveries[0].downloadUrl)).text()).toBe("the work");
});

/** What `finalizeUpload` needs to finalise a declared upload, without a bid's rules. */
const stepsOf = (storageKey: string, mimeType = "text/plain") => ({
  find: async () => ({ storageKey, bytes: 5, mimeType }),
  findRecorded: async () => null,
});
const anyone = { client: { hasLeft: () => false }, pause: sleep };

test("a sealed copy is kept if its record may have been committed, until another request finalises the upload", async () => {
  const { buyer, bidder, bid } = await award();
  const { storage } = service.services;
  const storageKey = await upload(bidder, bid.id, "sample", "hello");
  let sealedKey = "";
  const sealing = finalizeUpload(
    { ...service.services, ...anyone },
    {
      ...stepsOf(storageKey),
      record: async (sealed) => {
        sealedKey = sealed?.lease.sealedKey ?? "";
        throw new Error("Connection terminated unexpectedly");
      },
    },
  );
  await expect(sealing).rejects.toThrow("Connection terminated");
  expect(await storage.head(sealedKey)).toMatchObject({ bytes: 5 });
  expect((await bidder.post(`/bids/${bid.id}/sample/finalize`, { storageKey })).status).toBe(201);
  expect(await storage.head(sealedKey)).toBeNull();
  const { samples } = (await buyer.get(`/tasks/${bid.taskId}`)).body;
  expect(await (await fetch(samples[0].downloadUrl)).text()).toBe("hello");
});

test("requests that wait for another's copy hold up nothing else, and are 401 as soon as their session has ended", async () => {
  const { bidder, bid } = await award();
  const storageKey = await upload(bidder, bid.id, "sample");
  await takeLease(service.services.database, storageKey);
  await service.services.database.query(sql`
    UPDATE uploads SET sealing_until = 'infinity' WHERE storage_key = ${storageKey}`);
  const watch = vi.spyOn(service.services.callerWatch, "watch");
  const waiting = Array.from({ length: 3 }, () => bidder.post(`/bids/${bid.id}/sample/finalize`, { storageKey }));
  await expect.poll(() => watch.mock.calls.length).toBeGreaterThanOrEqual(3);
  expect((await bidder.get("/wallet")).status).toBe(200);
  expect((await bidder.post("/auth/logout")).status).toBe(204);
  for (const answer of await Promise.all(waiting)) expectError(answer, "unauthenticated");
});

test("a request that lost its lease records nothing", async () => {
  const { bidder, bid } = await award();
  const { database } = service.services;
  const storageKey = await upload(bidder, bid.id, "sample", "hello");
  const first = await takeLease(database, storageKey);
  expect(await takeLease(database, storageKey)).toBeNull();
  if (first === null) throw new Error("the first request has no lease");
  const finished = () => database.query(finishUpload(first.lease));
  await database.query(sql`UPDATE uploads SET sealing_until = clock_timestamp() WHERE storage_key = ${storageKey}`);
  expect(await finished()).toEqual([]);
  const second = await takeLease(database, storageKey);
  expect(second?.abandonedKey).toBe(first.lease.sealedKey);
  expect(await finished()).toEqual([]);
});

test("a bid's id in upper case names the same bid", async () => {
  const { bidder, bid } = await award();
  const storageKey = await upload(bidder, bid.id.toUpperCase(), "sample", "hello");
  expect(storageKey.startsWith(`samples/${bid.id}/`)).toBe(true);
  const answer = await bidder.post(`/bids/${bid.id.toUpperCase()}/sample/finalize`, { storageKey });
  expect(answer.status).toBe(201);
  const rows = await service.services.database.query(sql`SELECT 1 FROM artifacts WHERE bid_id = ${bid.id}::uuid`);
  expect(rows).toHaveLength(1);
});
