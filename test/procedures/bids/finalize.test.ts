import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test, vi } from "vitest";
import { ApiError } from "../../../server/errors.ts";
import { finalizeUpload } from "../../../server/market/uploads/finalize.ts";
import { finishUpload, takeSealingLease } from "../../../server/market/uploads/lease.ts";
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
  find: async () => ({ storageKey, bytes: 5, mimeType, refusal: null }),
  findRecorded: async () => null,
});
const anyone = { userId: "anyone", client: { left: new AbortController().signal }, pause: sleep };

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
  await takeSealingLease(service.services.database, storageKey);
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
  const first = await takeSealingLease(database, storageKey);
  expect(await takeSealingLease(database, storageKey)).toBeNull();
  if (first === null) throw new Error("the first request has no lease");
  const finished = () => database.query(finishUpload(first.lease));
  await database.query(sql`UPDATE uploads SET sealing_until = clock_timestamp() WHERE storage_key = ${storageKey}`);
  expect(await finished()).toEqual([]);
  const second = await takeSealingLease(database, storageKey);
  expect(second?.abandonedKey).toBe(first.lease.sealedKey);
  expect(await finished()).toEqual([]);
});

/** Everything that a refusal says, except what names the request. */
const refusalOf = ({ status, body: { requestId: _, ...body } }: { status: number; body: Record<string, unknown> }) => ({
  status,
  body,
});

test("an eleventh sample is refused before anything is copied, however often it is finalised", async () => {
  const { bidder, bid } = await award();
  const storageKey = await upload(bidder, bid.id, "sample", "one too many");
  for (let sample = 0; sample < 10; sample++) {
    const { status } = await bidder.post(`/bids/${bid.id}/sample/finalize`, {
      storageKey: await upload(bidder, bid.id, "sample"),
    });
    expect(status).toBe(201);
  }
  const copying = vi.spyOn(service.services.storage, "seal");
  for (let attempt = 0; attempt < 3; attempt++) {
    const answer = await bidder.post(`/bids/${bid.id}/sample/finalize`, { storageKey });
    expectError(answer, "sample_too_large");
    expect(answer.body.violations).toEqual([{ field: "samples", limit: 10, actual: 11 }]);
  }
  expect(copying).not.toHaveBeenCalled();
});

test("of two samples that are finalised together, the one too many is copied once, and never again", async () => {
  const { bidder, bid } = await award();
  const keys: string[] = [];
  for (let sample = 0; sample < 11; sample++) keys.push(await upload(bidder, bid.id, "sample"));
  const finalise = (storageKey = "") => bidder.post(`/bids/${bid.id}/sample/finalize`, { storageKey });
  for (const key of keys.slice(0, 9)) expect((await finalise(key)).status).toBe(201);
  const { storage } = service.services;
  // Until both are copied, none of them is recorded.
  const allCopied = Promise.withResolvers<void>();
  const seal = storage.seal.bind(storage);
  let copies = 0;
  const copying = vi.spyOn(storage, "seal").mockImplementation(async (...parameters) => {
    const sealed = await seal(...parameters);
    copies += 1;
    if (copies === 2) allCopied.resolve();
    await allCopied.promise;
    return sealed;
  });
  const together = await Promise.all(keys.slice(9).map(finalise));
  expect(together.map(({ status }) => status).sort()).toEqual([201, 400]);
  const again = await Promise.all(keys.slice(9).map(finalise));
  expect(again.map(refusalOf)).toEqual(
    together.map((answer) => (answer.status === 201 ? expect.anything() : refusalOf(answer))),
  );
  expect(copying).toHaveBeenCalledTimes(2);
});

test("an upload whose bytes are not what was declared is copied once, and refused with the same error ever after", async () => {
  const { bidder, bid } = await award();
  const { storage } = service.services;
  for (const kind of ["sample", "delivery"] as const) {
    const storageKey = await upload(bidder, bid.id, kind);
    const seal = storage.seal.bind(storage);
    const copying = vi.spyOn(storage, "seal").mockImplementation(async (...parameters) => {
      const sealed = await seal(...parameters);
      return sealed && { ...sealed, mimeType: "image/png" };
    });
    const first = await bidder.post(`/bids/${bid.id}/${kind}/finalize`, { storageKey });
    expectError(first, "invalid_input");
    const again = await Promise.all(
      Array.from({ length: 4 }, () => bidder.post(`/bids/${bid.id}/${kind}/finalize`, { storageKey })),
    );
    for (const answer of again) expect(refusalOf(answer)).toEqual(refusalOf(first));
    expect(copying).toHaveBeenCalledTimes(1);
    copying.mockRestore();
  }
});

test("an upload that could not be finalised because of a failure, or too early, can still be", async () => {
  const { bidder, bid } = await award();
  const init = await bidder.post(`/bids/${bid.id}/sample/init`, { mimeType: "text/plain", bytes: 5 });
  const { storageKey, uploadUrl } = init.body;
  const finalise = () => bidder.post(`/bids/${bid.id}/sample/finalize`, { storageKey });
  expectError(await finalise(), "invalid_input");
  const headers = { "content-type": "text/plain" };
  expect((await fetch(uploadUrl, { method: "PUT", headers, body: "hello" })).status).toBe(200);
  vi.spyOn(service.services.inspector, "inspect").mockRejectedValueOnce(new ApiError("unavailable"));
  expectError(await finalise(), "unavailable");
  expect((await finalise()).status).toBe(201);
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
