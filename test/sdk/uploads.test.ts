import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BadRequestError, RebidConnectionError, type RebidOptions, RebidUploadError } from "@rebid/sdk";
import { fileFrom } from "@rebid/sdk/node";
import { afterAll, beforeAll, expect, test } from "vitest";
import { pngFile } from "../factories/files.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { awardedTask } from "../factories/tasks.ts";
import { useService } from "../setup/testService.ts";
import { agentOf, failureOf, noPauses } from "./clients.ts";

const service = useService();
let buyer: TestPerson;
let bidder: TestPerson;
let directory: string;

beforeAll(async () => {
  [buyer, bidder] = await Promise.all([createPerson(service, { cents: 1_000_000 }), createPerson(service)]);
  directory = await mkdtemp(join(tmpdir(), "rebid-sdk-"));
});

afterAll(() => rm(directory, { recursive: true }));

const content = Buffer.from("hello, world\n".repeat(20_000)); // several pieces of a stream
const sha256 = createHash("sha256").update(content).digest("hex");

function agent(options: Partial<RebidOptions> = {}) {
  return agentOf(service, bidder, { timing: noPauses().timing, ...options });
}

const newBid = async () => (await awardedTask(buyer, bidder)).bid.id as string;

async function* pieces(size = 10_000) {
  for (let start = 0; start < content.length; start += size) yield content.subarray(start, start + size);
}

const kinds: [string, () => Promise<Parameters<ReturnType<typeof agent>["bids"]["uploadSample"]>[1]> | object][] = [
  ["a Buffer", () => content],
  ["a Uint8Array", () => new Uint8Array(content)],
  ["a Blob", () => new Blob([content])],
  ["a File", () => new File([content], "hello.txt", { type: "text/plain" })],
  ["a stream", () => ({ bytes: content.length, stream: new Blob([content]).stream() })],
  ["an iterable", () => ({ bytes: content.length, stream: pieces() })],
  ["a stream that can be read again", () => ({ bytes: content.length, stream: () => pieces() })],
];

test.each(kinds)("%s is uploaded whole, as a sample and as the delivery", async (_name, make) => {
  const bidId = await newBid();
  const options = { mimeType: "text/plain", fileName: "greeting.txt" };
  const file = async () => (await make()) as Parameters<ReturnType<typeof agent>["bids"]["uploadSample"]>[1];
  const { sample } = await agent().bids.uploadSample(bidId, await file(), options);
  expect(sample).toMatchObject({ bytes: content.length, sha256, mimeType: "text/plain", fileName: "greeting.txt" });
  const { delivery, task } = await agent().bids.uploadDelivery(bidId, await file(), options);
  expect(delivery).toMatchObject({ bytes: content.length, sha256, fileName: "greeting.txt" });
  expect(task.acceptanceDeadlineAt).toEqual(expect.any(String));
  const download = await fetch(delivery.downloadUrl);
  expect(Buffer.from(await download.arrayBuffer()).equals(content)).toBe(true);
});

test("a path is uploaded with its name and type, and a File with its own", async () => {
  const path = join(directory, "Report.MD");
  await writeFile(path, content);
  const bidId = await newBid();
  const { sample } = await agent().bids.uploadSample(bidId, await fileFrom(path));
  expect(sample).toMatchObject({ bytes: content.length, sha256, mimeType: "text/markdown", fileName: "Report.MD" });
  const file = new File([content], "data.csv", { type: "text/csv" });
  expect((await agent().bids.uploadSample(bidId, file)).sample).toMatchObject({
    mimeType: "text/csv",
    fileName: "data.csv",
  });
  const { sample: bare } = await agent().bids.uploadSample(bidId, content);
  expect(bare.mimeType).toBe("application/octet-stream");
  expect(bare.fileName).toBeUndefined();
  await expect(fileFrom(join(directory, "missing"))).rejects.toThrow("ENOENT");
  await expect(fileFrom(directory)).rejects.toThrow("is not a file");
});

test("what is declared about a sample goes with it, and its limits are refused before a byte is sent", async () => {
  const bidId = await newBid();
  const image = pngFile(2, 3);
  const dimensions = { width: 2, height: 3 };
  const { sample } = await agent().bids.uploadSample(bidId, image, { mimeType: "image/png", dimensions });
  expect(sample).toMatchObject({ dimensions, detectedDimensions: dimensions });
  let reads = 0;
  const stream = () => {
    reads++;
    return pieces();
  };
  const error = await failureOf(agent().bids.uploadSample(bidId, { bytes: 2_000_000, type: "text/plain", stream }));
  expect(error).toBeInstanceOf(BadRequestError);
  expect(error).toMatchObject({ violations: [{ field: "bytes", limit: 1_000_000, actual: 2_000_000 }] });
  expect(reads).toBe(0);
});

test("a file that cannot be read, or a caller's own mistake, is not taken for a broken connection", async () => {
  const bidId = await newBid();
  let reads = 0;
  const unreadable = async function* () {
    reads++;
    yield content.subarray(0, 1);
    throw new Error("the disk is gone");
  };
  const unread = agent().bids.uploadSample(bidId, { bytes: content.length, stream: unreadable });
  expect(await failureOf(unread)).toMatchObject({ name: "Error", message: "the disk is gone" });
  expect(reads).toBe(1);
  const onProgress = ({ sentBytes }: { sentBytes: number }) => {
    if (sentBytes > 0) throw new Error("my mistake");
  };
  expect(await failureOf(agent().bids.uploadSample(bidId, content, { onProgress }))).toMatchObject({
    message: "my mistake",
  });
});

test("progress grows from nothing to the whole file", async () => {
  const seen: number[] = [];
  await agent().bids.uploadSample(await newBid(), content, {
    onProgress: ({ sentBytes, totalBytes }) => {
      expect(totalBytes).toBe(content.length);
      seen.push(sentBytes);
    },
  });
  expect(seen.length).toBeGreaterThan(3);
  expect(seen[0]).toBe(0);
  expect(seen.at(-1)).toBe(content.length);
  expect(seen).toEqual(seen.toSorted((a, b) => a - b));
});

test("a stream is read as it is sent: a large file is never in memory as a whole", async () => {
  let [opened, passed] = [0, 0];
  const bytes = 30_000_000;
  const piece = new Uint8Array(1_000_000);
  async function* large() {
    opened++;
    for (let count = 0; count < bytes / piece.length; count++) yield piece;
  }
  // The store's side of the connection: counts, and keeps nothing.
  const taking: typeof fetch = async (input, init) => {
    if (init?.method !== "PUT") return fetch(input, init);
    const reader = (init.body as ReadableStream<Uint8Array>).getReader();
    for (let step = await reader.read(); !step.done; step = await reader.read()) {
      passed += step.value.byteLength;
      ahead = Math.max(ahead, sent - passed);
    }
    return new Response(null, { status: 403 });
  };
  let [ahead, sent] = [0, 0];
  const client = agent({ fetch: taking });
  const file = { bytes, stream: () => large(), type: "video/mp4" };
  const onProgress = ({ sentBytes }: { sentBytes: number }) => {
    sent = sentBytes;
  };
  expect(await failureOf(client.bids.uploadDelivery(await newBid(), file, { onProgress }))).toBeInstanceOf(
    RebidUploadError,
  );
  expect([opened, passed]).toEqual([1, bytes]);
  expect(ahead).toBeLessThanOrEqual(3 * piece.length);
});

/** Breaks the first requests to the object store, after they were sent. */
function losing(times: number, failure: () => Promise<Response>) {
  let puts = 0;
  const fetchIt: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    return init?.method === "PUT" && puts++ < times ? failure() : response;
  };
  return { fetch: fetchIt, puts: () => puts };
}

const reset = () => Promise.reject(new TypeError("reset"));

test("an upload that breaks is repeated if the file can be read again, and otherwise fails as a connection", async () => {
  const broken = losing(2, reset);
  const { sample } = await agent({ fetch: broken.fetch }).bids.uploadSample(await newBid(), {
    bytes: content.length,
    stream: () => pieces(),
  });
  expect(sample.sha256).toBe(sha256);
  expect(broken.puts()).toBe(3);

  const once = losing(1, reset);
  const stream = { bytes: content.length, stream: pieces() };
  const error = await failureOf(agent({ fetch: once.fetch }).bids.uploadSample(await newBid(), stream));
  expect(error).toBeInstanceOf(RebidConnectionError);
  expect(once.puts()).toBe(1);
});

test("a store that is away is tried again, and one that refuses is not", async () => {
  const away = losing(1, async () => new Response("<Error><Code>SlowDown</Code></Error>", { status: 503 }));
  expect((await agent({ fetch: away.fetch }).bids.uploadSample(await newBid(), content)).sample.sha256).toBe(sha256);
  const refusing = losing(9, async () => new Response("<Error><Code>AccessDenied</Code></Error>", { status: 403 }));
  const error = await failureOf(agent({ fetch: refusing.fetch }).bids.uploadSample(await newBid(), content));
  expect(error).toMatchObject({ name: "RebidUploadError", status: 403, code: "AccessDenied" });
  expect(refusing.puts()).toBe(1);
});

test.each([
  ["fewer", content.length + 1],
  ["more", content.length - 1],
])("a stream with %s bytes than it says is refused with both numbers", async (_name, bytes) => {
  const error = await failureOf(agent().bids.uploadSample(await newBid(), { bytes, stream: () => pieces() }));
  expect(error).toBeInstanceOf(TypeError);
  expect(String(error)).toMatch(`but \`bytes\` is ${bytes}`);
});

test.each([-1, 1.5, Number.NaN, undefined, "5"])(
  "a size that is none is refused before anything is sent: %s",
  async (bytes) => {
    const file = { bytes: bytes as number, stream: () => pieces() };
    expect(await failureOf(agent().bids.uploadSample("b", file))).toBeInstanceOf(TypeError);
  },
);

test("an upload ends with its signal, and the store never sees the key or the cookie", async () => {
  const reason = new Error("enough");
  const controller = new AbortController();
  const headers: Headers[] = [];
  const watching: typeof fetch = (input, init) => {
    if (init?.method === "PUT") headers.push(new Headers(init.headers));
    return fetch(input, init);
  };
  const client = agent({ fetch: watching, headers: { "X-Team": "a" }, credentials: "include" });
  const onProgress = ({ sentBytes }: { sentBytes: number }) => {
    if (sentBytes > 0) controller.abort(reason);
  };
  const upload = client.bids.uploadSample(await newBid(), content, { signal: controller.signal, onProgress });
  expect(await failureOf(upload)).toBe(reason);
  expect([...(headers[0]?.keys() ?? [])].sort()).toEqual(["content-length", "content-type"]);
});

test("an upload with a key of the caller's can be repeated as a whole", async () => {
  const bidId = await newBid();
  const options = { idempotencyKey: "upload-1", mimeType: "text/plain" };
  const first = await agent().bids.uploadSample(bidId, content, options);
  const second = await agent().bids.uploadSample(bidId, content, options);
  expect(second.sample.id).toBe(first.sample.id);
});

test("a file of a brief and one of a message are uploaded in one call each, and the other side reads both", async () => {
  const ada = agentOf(service, buyer, { timing: noPauses().timing });
  const { task } = await ada.tasks.create({ title: "Say hello", description: "Once.", maxBudgetCents: 100, tags: [] });
  const page = new File([content], "page.txt", { type: "text/plain" });
  const ofBrief = await ada.tasks.uploadFile(task.id, page, { visibility: "awarded" });
  expect(ofBrief.file).toMatchObject({ fileName: "page.txt", bytes: content.length, sha256, visibility: "awarded" });
  const { bid } = await agent().bids.place({ id: task.id, priceCents: 100, etaHours: 1 });
  const ofMessage = await agent().messages.uploadFile(bid.id, content, {
    mimeType: "text/plain",
    fileName: "draft.txt",
  });
  await agent().messages.send({ id: bid.id, fileIds: [ofMessage.file.id] });
  const [message] = await ada.messages.list({ id: bid.id }).toArray({ limit: 1 });
  expect(message?.files).toMatchObject([{ fileName: "draft.txt", sha256 }]);
  const large = { bytes: 25_000_001, stream: () => pieces() };
  const error = await failureOf(agent().messages.uploadFile(bid.id, large));
  expect(error).toMatchObject({ code: "file_too_large", violations: [{ field: "bytes", limit: 25_000_000 }] });
});
