import { beforeAll, describe, expect, test } from "vitest";
import { finalizeUpload } from "../../../server/market/uploads/finalize.ts";
import { createPerson, type TestPerson } from "../../factories/people.ts";
import { awardedTask, placeBid, postTask } from "../../factories/tasks.ts";
import { expectError, issuePaths } from "../../setup/expectError.ts";
import { useService } from "../../setup/testService.ts";

const service = useService();
let buyer: TestPerson;
let bidder: TestPerson;
let bidId: string;
let taskId: string;

beforeAll(async () => {
  buyer = await createPerson(service, { cents: 1_000_000 });
  bidder = await createPerson(service);
  ({ id: bidId, taskId } = (await awardedTask(buyer, bidder)).bid);
});

/** Declares, uploads and finalises a file, and returns its record. */
async function uploadOf(mimeType: string, kind: "sample" | "delivery" = "sample", bid = bidId) {
  const init = await bidder.post(`/bids/${bid}/${kind}/init`, { mimeType, bytes: 5 });
  expect(init.status, init.text).toBe(200);
  const put = await fetch(init.body.uploadUrl, { method: "PUT", headers: { "content-type": mimeType }, body: "hello" });
  expect(put.status, await put.text()).toBe(200);
  const { storageKey } = init.body;
  const answer = await bidder.post(`/bids/${bid}/${kind}/finalize`, { storageKey });
  expect(answer.status, answer.text).toBe(201);
  return answer.body[kind];
}

const docx = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";

test.each([
  ["text/html; charset=utf-8", ".html"],
  ["Text/Plain;charset=UTF-8;", ".txt"],
  ['text/csv ; header=present;  title="a \\"quoted; name\\""', ".csv"],
  ["image/svg+xml", ".svg"],
  ["model/gltf+json", ""],
  ["application/x-..evil", ""],
])("a file of type %s can be a sample, and downloads as what it is", async (mimeType, extension) => {
  const sample = await uploadOf(mimeType);
  expect(sample).toMatchObject({ mimeType, bytes: 5 });
  const { samples } = (await buyer.get(`/tasks/${taskId}`)).body;
  const shown = samples.find(({ id }: { id: string }) => id === sample.id);
  const download = await fetch(shown.downloadUrl);
  expect(await download.text()).toBe("hello");
  expect(download.headers.get("content-type")).toBe(mimeType);
  expect(download.headers.get("content-disposition")).toContain(`filename="sample-${sample.id}${extension}"`);
});

test("any well-formed type can be delivered, up to 1 GB", async () => {
  const { bid } = await awardedTask(buyer, bidder);
  for (const mimeType of ["application/x-tar", "font/woff2", docx]) {
    const answer = await bidder.post(`/bids/${bid.id}/delivery/init`, { mimeType, bytes: 1_000_000_000 });
    expect(answer.status).toBe(200);
  }
  expect(await uploadOf("text/html; charset=utf-8", "delivery", bid.id)).toMatchObject({
    mimeType: "text/html; charset=utf-8",
  });
});

test.each([
  "",
  "text",
  "text/",
  "/plain",
  "text/plain/x",
  "text /plain",
  " text/plain",
  "text/plain ",
  "text/plain; ",
  "text/plain; charset",
  "text/plain; charset=",
  "text/plain; a=b\r\nx-evil: 1",
  "text/plain; a=ä",
  'text/plain; a="b',
  "text/*",
  "text/pla:in",
  `text/${"x".repeat(128)}`,
  `text/plain; a=${"x".repeat(242)}`,
])("%j is not a type", async (mimeType) => {
  for (const kind of ["sample", "delivery"]) {
    const answer = await bidder.post(`/bids/${bidId}/${kind}/init`, { mimeType, bytes: 1 });
    expectError(answer, "invalid_input");
    expect(issuePaths(answer.body)).toEqual(["mimeType"]);
  }
});

test("a store may report the type in another form, but not another type", async () => {
  const sealing = async (reported: string) => {
    const mimeType = "Text/Plain; charset=utf-8";
    const init = await bidder.post(`/bids/${bidId}/sample/init`, { mimeType, bytes: 5 });
    const { storageKey, uploadUrl } = init.body;
    const headers = { "content-type": mimeType };
    expect((await fetch(uploadUrl, { method: "PUT", headers, body: "hello" })).status).toBe(200);
    return finalizeUpload(
      { ...service.services, userId: "anyone", client: { left: new AbortController().signal }, pause: async () => {} },
      {
        find: async () => ({ storageKey, bytes: 5, mimeType: reported, refusal: null }),
        findRecorded: async () => null,
        record: async (sealed) => sealed,
      },
    );
  };
  await expect(sealing("text/csv")).rejects.toThrow("The input is not valid");
  await expect(sealing("text/plain;charset=UTF-8")).resolves.toBeDefined();
});

describe("limits", () => {
  const init = (kind: "sample" | "delivery", body: object, bid = bidId) =>
    bidder.post(`/bids/${bid}/${kind}/init`, body);

  test.each([
    ["image/png", 10_000_000, { dimensions: { width: 8_192, height: 8_192 } }],
    ["IMAGE/WEBP", 10_000_000, {}],
    ["audio/flac", 25_000_000, { durationSec: 300 }],
    ["video/mp4; codecs=avc1", 100_000_000, { durationSec: 119.999 }],
    ["text/x-anything", 1_000_000, {}],
    ["application/json", 1_000_000, {}],
    ["application/pdf", 20_000_000, {}],
    ["application/zip", 5_000_000, { durationSec: 1_000, dimensions: { width: 9_000, height: 1 } }],
    ["image/svg+xml", 5_000_000, {}],
  ])("of a sample of type %s: %i bytes", async (mimeType, bytes, measures) => {
    expect((await init("sample", { mimeType, bytes, ...measures })).status).toBe(200);
    const answer = await init("sample", { mimeType, bytes: bytes + 1, ...measures });
    expectError(answer, "sample_too_large");
    expect(answer.body.violations).toEqual([{ field: "bytes", limit: bytes, actual: bytes + 1 }]);
  });

  test("are judged all at once, for any number that JSON can carry exactly", async () => {
    const image = await init("sample", {
      mimeType: "image/gif",
      bytes: Number.MAX_SAFE_INTEGER,
      dimensions: { width: 8_193, height: 2_147_483_647 },
    });
    expectError(image, "sample_too_large");
    expect(image.body.violations).toEqual([
      { field: "bytes", limit: 10_000_000, actual: Number.MAX_SAFE_INTEGER },
      { field: "width", limit: 8_192, actual: 8_193 },
      { field: "height", limit: 8_192, actual: 2_147_483_647 },
    ]);
    const audio = await init("sample", { mimeType: "audio/ogg", bytes: 1, durationSec: 300.001 });
    expect(audio.body.violations).toEqual([{ field: "durationSec", limit: 300, actual: 300.001 }]);
    for (const bytes of [1_000_000_001, 2_147_483_648, Number.MAX_SAFE_INTEGER]) {
      const delivery = await init("delivery", { mimeType: docx, bytes });
      expectError(delivery, "delivery_too_large");
      expect(delivery.body.violations).toEqual([{ field: "bytes", limit: 1_000_000_000, actual: bytes }]);
    }
  });

  test("are judged before the status, like the other fields, and before the bid is looked up", async () => {
    const open = await placeBid(bidder, (await postTask(buyer)).id);
    for (const id of [open.id, crypto.randomUUID()]) {
      expectError(await init("sample", { mimeType: "text/plain", bytes: 1_000_001 }, id), "sample_too_large");
      expectError(await init("delivery", { mimeType: "text/plain", bytes: 1_000_000_001 }, id), "delivery_too_large");
    }
    expectError(await init("sample", { mimeType: "text/plain", bytes: 1 }, open.id), "wrong_status");
    expectError(await init("sample", { mimeType: "text/plain", bytes: 1 }, crypto.randomUUID()), "not_found");
    const stranger = await createPerson(service);
    const body = { mimeType: "text/plain", bytes: 1 };
    expectError(await stranger.post(`/bids/${bidId}/sample/init`, body), "forbidden");
  });

  test("a duration comes back as it was sent", async () => {
    const { bid } = await awardedTask(buyer, bidder);
    for (const durationSec of [0, 0.1, 12.345678901, 2_147_483_647]) {
      const answer = await init("sample", { mimeType: "model/mtl", bytes: 5, durationSec }, bid.id);
      const headers = { "content-type": "model/mtl" };
      await fetch(answer.body.uploadUrl, { method: "PUT", headers, body: "hello" });
      const { storageKey } = answer.body;
      const finalized = await bidder.post(`/bids/${bid.id}/sample/finalize`, { storageKey });
      expect(finalized.body.sample.durationSec).toBe(durationSec);
    }
  });
});
