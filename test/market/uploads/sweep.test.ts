import { beforeAll, expect, test, vi } from "vitest";
import { takeSealingLease } from "../../../server/market/uploads/lease.ts";
import { sweepPart, sweepUploads } from "../../../server/market/uploads/sweep.ts";
import { sql } from "../../../server/store/connection.ts";
import { createPerson, type TestPerson } from "../../factories/people.ts";
import { awardedTask, upload, uploadFile } from "../../factories/tasks.ts";
import { useService } from "../../setup/testService.ts";

const HOUR = 3_600;
const service = useService();
let buyer: TestPerson;
let bidder: TestPerson;

beforeAll(async () => {
  buyer = await createPerson(service, { cents: 1_000_000 });
  bidder = await createPerson(service);
});

const exists = async (storageKey: string) => (await service.services.storage.head(storageKey)) !== null;
const hasRow = async (storageKey: string) =>
  (await service.services.database.query(sql`SELECT 1 FROM uploads WHERE storage_key = ${storageKey}`)).length > 0;

/** Runs every part, as the jobs do one after another. */
async function sweep(objectsPerRun: number): Promise<number> {
  let parts = 0;
  let next: Parameters<typeof sweepPart>[1] | null = {};
  for (; next !== null; parts++) next = await sweepPart(service.services, next, objectsPerRun);
  return parts;
}

test("an upload is gone when its URL has expired, or after 24 hours if it was not finalised; its copy stays", async () => {
  const { bid } = await awardedTask(buyer, bidder);
  const body = "came back";
  const finished = await uploadFile(bidder, bid.id, "sample", { mimeType: "text/plain", bytes: Buffer.from(body) });
  const headers = { "content-type": "text/plain" };
  expect((await fetch(finished.uploadUrl, { method: "PUT", headers, body })).status).toBe(200);
  const unfinished = [await upload(bidder, bid.id, "sample"), await upload(bidder, bid.id, "delivery")];
  const neverSent = (await bidder.post(`/bids/${bid.id}/sample/init`, { mimeType: "text/plain", bytes: 1 })).body;

  service.clock.advance(0.9 * HOUR);
  await sweep(1_000);
  for (const key of [...unfinished, finished.storageKey]) expect(await exists(key)).toBe(true);

  service.clock.advance(22 * HOUR);
  await sweep(1_000);
  expect(await exists(finished.storageKey)).toBe(false);
  for (const key of unfinished) expect(await exists(key)).toBe(true);
  expect((await fetch(finished.uploadUrl, { method: "PUT", headers, body })).status).toBe(200);

  service.clock.advance(2 * HOUR);
  const late = await upload(bidder, bid.id, "sample");
  await service.services.database.query(
    sql`UPDATE uploads SET created_at = created_at + interval '25 hours' WHERE storage_key = ${late}`,
  );
  expect(await sweep(2)).toBeGreaterThan(3);
  for (const key of [...unfinished, finished.storageKey]) expect(await exists(key)).toBe(false);
  for (const key of [...unfinished, neverSent.storageKey]) expect(await hasRow(key)).toBe(false);
  expect([await exists(late), await hasRow(late), await hasRow(finished.storageKey)]).toEqual([true, true, true]);
  const [sample] = (await buyer.get(`/tasks/${bid.taskId}`)).body.samples;
  expect(await (await fetch(sample.downloadUrl)).text()).toBe(body);
  const answer = await bidder.post(`/bids/${bid.id}/sample/finalize`, { storageKey: unfinished[0] });
  expect(answer.body).toMatchObject({ error: "invalid_input" });
});

test("an upload that is being finalised is not swept, and what a dead finalisation copied is", async () => {
  const { bid } = await awardedTask(buyer, bidder);
  const { database, storage } = service.services;
  const [alive, dead] = [await upload(bidder, bid.id, "sample"), await upload(bidder, bid.id, "sample")];
  await takeSealingLease(database, alive);
  const taken = await takeSealingLease(database, dead);
  if (taken === null) throw new Error("there is no lease");
  await storage.seal(dead, taken.lease.sealedKey, 1);
  await database.query(sql`UPDATE uploads SET sealing_until = clock_timestamp() WHERE storage_key = ${dead}`);
  service.clock.advance(25 * HOUR);
  await sweep(1_000);
  expect([await exists(alive), await hasRow(alive)]).toEqual([true, true]);
  expect([await exists(dead), await hasRow(dead), await exists(taken.lease.sealedKey)]).toEqual([false, false, false]);
});

test("an upload that begins to be finalised while it is swept keeps its row", async () => {
  const { bid } = await awardedTask(buyer, bidder);
  const { database, storage } = service.services;
  const storageKey = await upload(bidder, bid.id, "sample");
  service.clock.advance(25 * HOUR);
  const deleting = vi.spyOn(storage, "delete").mockImplementation(async () => {
    await takeSealingLease(database, storageKey);
  });
  await sweepPart(service.services, {}, 1_000);
  deleting.mockRestore();
  expect(await hasRow(storageKey)).toBe(true);
});

test("each run does one part and adds the job for the next", async () => {
  const { database } = service.services;
  await sweepUploads(service.services, {});
  const jobs = await database.query<{ payload: unknown }>(sql`
    SELECT payload FROM graphile_worker._private_jobs AS jobs
    JOIN graphile_worker._private_tasks AS tasks ON tasks.id = jobs.task_id WHERE tasks.identifier = 'sweepUploads'`);
  expect(jobs.map(({ payload }) => payload)).toEqual([{ stage: "samples/" }]);
});
