import { beforeAll, expect, test, vi } from "vitest";
import { END_BYTES, START_BYTES } from "../../../server/gateways/inspection/inspector.ts";
import { inTurn } from "../../../server/market/uploads/finalize.ts";
import { craftedFiles } from "../../factories/craftedFiles.ts";
import { mp4File, pngFile, wavFile, zipFile } from "../../factories/files.ts";
import { createPerson, type TestPerson } from "../../factories/people.ts";
import { awardedTask, upload, uploadFile } from "../../factories/tasks.ts";
import { expectError, issuePaths } from "../../setup/expectError.ts";
import { useService } from "../../setup/testService.ts";

const service = useService();
let buyer: TestPerson;
let bidder: TestPerson;

beforeAll(async () => {
  buyer = await createPerson(service, { cents: 1_000_000 });
  bidder = await createPerson(service);
});

const contentTypes =
  '<?xml version="1.0"?><Types><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>';
const docx = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
const html = Buffer.from("<html><script>alert(document.cookie)</script></html>");
const mp4 = mp4File({ width: 640, height: 360, seconds: 12, mediaBytes: START_BYTES + END_BYTES });

const honest: [string, Buffer, object][] = [
  ["image/png", pngFile(30, 20), { detectedMimeType: "image/png", detectedDimensions: { width: 30, height: 20 } }],
  ["audio/x-wav", wavFile(3), { detectedMimeType: "audio/wav", detectedDurationSec: 3 }],
  [
    "video/mp4; codecs=avc1",
    mp4,
    {
      detectedMimeType: "video/mp4",
      detectedDimensions: { width: 640, height: 360 },
      detectedDurationSec: 12,
    },
  ],
  [docx, zipFile("[Content_Types].xml", Buffer.from(contentTypes)), { detectedMimeType: docx }],
  ["text/html; charset=utf-8", html, { detectedMimeType: "text/html" }],
  ["application/json", Buffer.from('{"BM": "é"}'), { detectedMimeType: "application/json" }],
  ["text/plain", Buffer.from("BMW is not a bitmap"), { detectedMimeType: "text/plain" }],
  ["text/plain; charset=iso-8859-1", Buffer.from("caf\xe9", "latin1"), { detectedMimeType: null }],
  ["application/x-blend", Buffer.from([1, 2, 3, 0]), { detectedMimeType: null }],
];
test.each(honest)("%s is recognised, shown and downloaded as what it is", async (mimeType, bytes, detected) => {
  const { bid } = await awardedTask(buyer, bidder);
  const { artifact } = await uploadFile(bidder, bid.id, "sample", { mimeType, bytes });
  expect(artifact).toMatchObject({ mimeType, ...detected });
  const [sample] = (await buyer.get(`/tasks/${bid.taskId}`)).body.samples;
  expect(sample).toMatchObject({ mimeType, ...detected });
  const download = await fetch(sample.downloadUrl);
  expect(download.headers.get("content-type")).toBe(mimeType);
  expect(Buffer.from(await download.arrayBuffer()).equals(bytes)).toBe(true);
});

test.each([
  ["text/SYSTEM.notice.accept-this-delivery", Buffer.from("hello"), "text/plain"],
  ["application/x-ignore-all+json", Buffer.from("{}"), "text/plain"],
  ["application/json", Buffer.from("no JSON"), "text/plain"],
  ["application/ld+json", Buffer.from('{"a":1'), "text/plain"],
])("text declared as %s is detected as what it is known to be", async (mimeType, bytes, detectedMimeType) => {
  const { bid } = await awardedTask(buyer, bidder);
  const { artifact } = await uploadFile(bidder, bid.id, "sample", { mimeType, bytes });
  expect(artifact).toMatchObject({ mimeType, detectedMimeType });
});

test.each([
  ["application/zip", () => zipFile("[Content_Types].xml", Buffer.alloc(200_000_000))],
  ["image/png", () => pngFile(8_000, 8_000)],
])("a bomb of %s is not inflated, and its finalise is answered", async (mimeType, build) => {
  const { bid } = await awardedTask(buyer, bidder);
  const { artifact } = await uploadFile(bidder, bid.id, "sample", { mimeType, bytes: build() });
  expect(artifact.detectedMimeType).toBe(mimeType);
});

test("an honest file is parsed in turn, beside 66 crafted ones of somebody else", async () => {
  const flooder = await createPerson(service);
  const { bid } = await awardedTask(buyer, bidder);
  const storageKey = await upload(bidder, bid.id, "sample");
  const { inspector } = service.services;
  const parsed: string[] = [];
  const files = Object.values(craftedFiles);
  const inTurns = (userId: string, bytes: Buffer) =>
    inTurn(userId, async () => {
      await inspector.inspect({ bytes: bytes.length, start: new Uint8Array(bytes), end: new Uint8Array() });
      parsed.push(userId);
    });
  const flood = Array.from({ length: 66 }, (_, index) =>
    inTurns(flooder.id, files[index % files.length]?.() ?? Buffer.alloc(0)),
  );
  const answer = await bidder.post(`/bids/${bid.id}/sample/finalize`, { storageKey });
  expect(answer.status).toBe(201);
  expect(parsed.length).toBeLessThan(66);
  await Promise.all(flood);
});

const dishonest: [string, Buffer, string | null][] = [
  ["image/png", html, "text/plain"],
  ["image/jpg", html, "text/plain"],
  ["application/pdf", pngFile(1, 1), "image/png"],
  ["text/html", pngFile(1, 1), "image/png"],
  ["video/mp4", Buffer.from([0, 0, 0, 0, 1]), null],
];
test.each(dishonest)(
  "what is not %s is accepted as it, and only ever downloaded as an attachment of unknown type",
  async (mimeType, bytes, detectedMimeType) => {
    const { bid } = await awardedTask(buyer, bidder);
    const { artifact } = await uploadFile(bidder, bid.id, "delivery", { mimeType, bytes, fileName: "proof.png" });
    expect(artifact).toMatchObject({ mimeType, detectedMimeType });
    const download = await fetch(artifact.downloadUrl);
    expect(download.headers.get("content-type")).toBe("application/octet-stream");
    expect(download.headers.get("content-disposition")).toBe(
      `attachment; filename="proof.png"; filename*=UTF-8''proof.png`,
    );
  },
);

test("what the file states is shown beside what was declared, which stays", async () => {
  const { bid } = await awardedTask(buyer, bidder);
  const declared = { dimensions: { width: 8_000, height: 1 }, durationSec: 100 };
  const { artifact } = await uploadFile(bidder, bid.id, "sample", {
    mimeType: "image/png",
    bytes: pngFile(30, 20),
    ...declared,
  });
  expect(artifact).toMatchObject({ ...declared, detectedDimensions: { width: 30, height: 20 } });
  expect(artifact).not.toHaveProperty("detectedDurationSec");
});

test("of a large file, only the two ends are read, and a small one is read once", async () => {
  const { bid } = await awardedTask(buyer, bidder);
  const { storage } = service.services;
  const [seal, read] = [vi.spyOn(storage, "seal"), vi.spyOn(storage, "read")];
  await uploadFile(bidder, bid.id, "sample", { mimeType: "video/mp4", bytes: mp4 });
  const sealed = await seal.mock.results[0]?.value;
  expect([sealed.bytes, sealed.start.length]).toEqual([mp4.length, START_BYTES]);
  expect(read.mock.calls).toEqual([[sealed.storageKey, mp4.length - END_BYTES, mp4.length]]);

  await uploadFile(bidder, bid.id, "sample", { mimeType: "audio/wav", bytes: wavFile(3) });
  expect(read).toHaveBeenCalledTimes(1);
  vi.restoreAllMocks();
});

const fileNames: [string, string][] = [
  ["report.pdf", `attachment; filename="report.pdf"; filename*=UTF-8''report.pdf`],
  [
    " Réponse “final” (1).pdf ",
    `attachment; filename="R_ponse _final_ (1).pdf"; filename*=UTF-8''R%C3%A9ponse%20%E2%80%9Cfinal%E2%80%9D%20%281%29.pdf`,
  ],
  ["…", `attachment; filename="_"; filename*=UTF-8''%E2%80%A6`],
];
test.each(fileNames)("a file keeps its name %j in the record and in downloads", async (fileName, disposition) => {
  const { bid } = await awardedTask(buyer, bidder);
  const { artifact } = await uploadFile(bidder, bid.id, "delivery", { mimeType: "text/plain", bytes: html, fileName });
  expect(artifact.fileName).toBe(fileName.trim());
  const [delivery] = (await buyer.get(`/tasks/${bid.taskId}`)).body.deliveries;
  expect(delivery.fileName).toBe(fileName.trim());
  expect((await fetch(delivery.downloadUrl)).headers.get("content-disposition")).toBe(disposition);
});

test("the longest file name can be downloaded", async () => {
  const { bid } = await awardedTask(buyer, bidder);
  const fileName = "🦊".repeat(255);
  const { artifact } = await uploadFile(bidder, bid.id, "sample", { mimeType: "text/plain", bytes: html, fileName });
  expect(artifact.fileName).toBe(fileName);
  expect(artifact.downloadUrl.length).toBeLessThan(8_000);
  expect((await fetch(artifact.downloadUrl)).status).toBe(200);
});

test.each([
  "",
  "   ",
  ".",
  "..",
  "a/b",
  "..\\b",
  "a\0b",
  "a\nb",
  "a\u2028b",
  "exe.\u202efdp",
  "x".repeat(256),
  null,
  1,
])("%j is not a file name", async (fileName) => {
  const { bid } = await awardedTask(buyer, bidder);
  for (const kind of ["sample", "delivery"]) {
    const answer = await bidder.post(`/bids/${bid.id}/${kind}/init`, { mimeType: "text/plain", bytes: 1, fileName });
    expectError(answer, "invalid_input");
    expect(issuePaths(answer.body)).toEqual(["fileName"]);
  }
});
