import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Storage, s3Storage } from "../../server/gateways/storage.ts";
import { StorageUnavailable } from "../../server/gateways/storageErrors.ts";
import { startObjectStore } from "../../server/local/objectStore/start.ts";

/** aws4 has no types. This is the part that we use: it signs a request in its query. */
const aws4: {
  sign(
    request: { host: string; path: string; service: string; region: string; signQuery: true },
    credentials: { accessKeyId: string; secretAccessKey: string },
  ): { path: string };
} = createRequire(import.meta.url)("aws4");

const directory = mkdtempSync(join(tmpdir(), "storage-"));
const account = { bucket: "rebid", region: "us-east-1", accessKeyId: "AKIDTEST", secretAccessKey: "a secret" };
let store: { url: string; stop(): Promise<void> };
let storage: Storage;

beforeAll(async () => {
  store = await startObjectStore({ ...account, directory, port: 0 });
  storage = s3Storage({ ...account, endpoint: store.url });
});

afterAll(async () => {
  storage.close();
  await store.stop();
  rmSync(directory, { recursive: true });
});

function presign(storageKey: string, body: string, mimeType = "text/plain"): Promise<string> {
  return storage.presignUpload({ storageKey, mimeType, bytes: Buffer.byteLength(body), expiresInSeconds: 60 });
}

async function put(url: string, body: string, mimeType = "text/plain"): Promise<number> {
  return (await fetch(url, { method: "PUT", body, headers: { "Content-Type": mimeType } })).status;
}

async function content(storageKey: string): Promise<string> {
  const download = { storageKey, fileName: "a.txt", mimeType: "text/plain", expiresInSeconds: 60 };
  return (await fetch(await storage.presignDownload(download))).text();
}

test("an upload needs no headers except its type and length", async () => {
  const url = await presign("samples/1/a", "hello");
  expect(new URL(url).searchParams.get("X-Amz-SignedHeaders")).toBe("content-length;content-type;host");
  expect([...new URL(url).searchParams.keys()].filter((name) => name.toLowerCase().includes("checksum"))).toEqual([]);
  expect(await put(url, "hello")).toBe(200);
  expect(await storage.head("samples/1/a")).toEqual({
    mimeType: "text/plain",
    bytes: 5,
    sha256: createHash("sha256").update("hello").digest("hex"),
  });
});

test("an upload of another type or length is refused", async () => {
  const url = await presign("samples/1/bound", "hello");
  expect(await put(url, "hello", "text/html")).toBe(403);
  expect(await put(url, "hello!")).toBe(403);
  expect(await storage.head("samples/1/bound")).toBeNull();
});

test("repeating an upload never changes what was sealed", async () => {
  const url = await presign("deliveries/1/a", "first");
  expect(await put(url, "first")).toBe(200);
  const sealed = await storage.seal("deliveries/1/a");
  expect(sealed).toMatchObject({ bytes: 5, mimeType: "text/plain" });
  expect(sealed?.sha256).toBe(createHash("sha256").update("first").digest("hex"));
  expect(await put(url, "other")).toBe(200);
  expect(await content(sealed?.storageKey ?? "")).toBe("first");
  await storage.delete("deliveries/1/a");
  expect(await put(url, "third")).toBe(200);
  expect(await content(sealed?.storageKey ?? "")).toBe("first");
});

test("nothing can be uploaded under a sealed key", async () => {
  await put(await presign("samples/1/sealed", "x"), "x");
  const sealed = await storage.seal("samples/1/sealed");
  expect(() => presign(sealed?.storageKey ?? "", "x")).toThrow("sealed");
});

test("sealing twice makes two copies, so that two finalisations never share one", async () => {
  await put(await presign("samples/1/twice", "x"), "x");
  const [first, second] = await Promise.all([storage.seal("samples/1/twice"), storage.seal("samples/1/twice")]);
  expect(first?.storageKey).not.toBe(second?.storageKey);
  expect(first?.storageKey).toMatch(/^sealed\/samples\/1\/twice\//);
});

test("head and seal return null for an upload that never arrived", async () => {
  expect(await storage.head("samples/1/missing")).toBeNull();
  expect(await storage.seal("samples/1/missing")).toBeNull();
});

test("a deletion is permanent, and deleting again succeeds", async () => {
  await put(await presign("samples/1/deleted", "x"), "x");
  await storage.delete("samples/1/deleted");
  await storage.delete("samples/1/deleted");
  expect(await storage.head("samples/1/deleted")).toBeNull();
});

const fileNames: [string, string][] = [
  ["report.pdf", `attachment; filename="report.pdf"; filename*=UTF-8''report.pdf`],
  ["Ünïcode (1).txt", `attachment; filename="_n_code (1).txt"; filename*=UTF-8''%C3%9Cn%C3%AFcode%20%281%29.txt`],
];
test.each(fileNames)("a download of %j is an attachment", async (fileName, disposition) => {
  await put(await presign("samples/1/download", "x"), "x");
  const url = await storage.presignDownload({
    storageKey: "samples/1/download",
    fileName,
    mimeType: "application/pdf",
    expiresInSeconds: 60,
  });
  const { headers } = await fetch(url);
  expect(headers.get("content-disposition")).toBe(disposition);
  expect(headers.get("content-type")).toBe("application/pdf");
});

test("a file name cannot break out of the header", async () => {
  await put(await presign("samples/1/download", "x"), "x");
  const url = await storage.presignDownload({
    storageKey: "samples/1/download",
    fileName: 'a"b\r\nSet-Cookie: c=d/../\\e\ud800',
    mimeType: "text/plain",
    expiresInSeconds: 60,
  });
  const response = await fetch(url);
  expect(response.status).toBe(200);
  expect(response.headers.get("content-disposition")).toMatch(
    /^attachment; filename="[^"/\\\r\n]*"; filename\*=UTF-8''[\w%.-]+$/,
  );
  expect(response.headers.has("set-cookie")).toBe(false);
});

test("a key may have any characters", async () => {
  const key = "samples/1/plain name é+&%2F!*'()";
  await put(await presign(key, "any"), "any");
  expect(await content(key)).toBe("any");
});

test("a link to Amazon S3 names the bucket in its host, and aws4 computes the same signature", async () => {
  const amazon = s3Storage({ ...account, endpoint: null });
  const download = { storageKey: "samples/1/a b", fileName: "a.txt", mimeType: "text/plain", expiresInSeconds: 900 };
  const url = new URL(await amazon.presignDownload(download));
  amazon.close();
  expect(url.origin + url.pathname).toBe("https://rebid.s3.us-east-1.amazonaws.com/samples/1/a%20b");
  const parameters = url.search.slice(1).split("&");
  const unsigned = parameters.filter((parameter) => !parameter.startsWith("X-Amz-Signature=")).join("&");
  const request = { host: url.host, path: `${url.pathname}?${unsigned}`, service: "s3", region: account.region };
  const { path } = aws4.sign({ ...request, signQuery: true }, account);
  const signatureIn = (signed: string) => /[?&]X-Amz-Signature=([0-9a-f]{64})/.exec(signed)?.[1];
  expect(signatureIn(url.search)).toBe(signatureIn(path));
});

test("signing a link costs at most half of what running a command through the SDK does", async () => {
  const microsecondsFor = async (sign: (storageKey: string) => Promise<string>) => {
    for (let count = 0; count < 50; count++) await sign(`samples/1/${count}`);
    const start = process.cpuUsage();
    for (let count = 0; count < 200; count++) await sign(`samples/1/${count}`);
    const { user, system } = process.cpuUsage(start);
    return user + system;
  };
  const download = { fileName: "a.txt", mimeType: "text/plain", expiresInSeconds: 900 };
  const downloads = await microsecondsFor((storageKey) => storage.presignDownload({ ...download, storageKey }));
  const uploads = await microsecondsFor((storageKey) => presign(storageKey, "x"));
  expect(downloads).toBeLessThan(uploads / 2);
});

test("an address where nothing listens counts as StorageUnavailable", async () => {
  const gone = s3Storage({ ...account, endpoint: "http://127.0.0.1:1" });
  await expect(gone.head("a")).rejects.toBeInstanceOf(StorageUnavailable);
  await expect(gone.delete("a")).rejects.toBeInstanceOf(StorageUnavailable);
  await expect(gone.seal("a")).rejects.toBeInstanceOf(StorageUnavailable);
  // Presigning sends no request.
  await gone.presignUpload({ storageKey: "a", mimeType: "text/plain", bytes: 1, expiresInSeconds: 60 });
  gone.close();
});

test.each([500, 503, 429])(
  "a response with status %i counts as StorageUnavailable, after one retry",
  async (status) => {
    let requests = 0;
    const failing = createServer((_request, response) => {
      requests += 1;
      response.writeHead(status).end();
    });
    await new Promise<void>((resolve) => failing.listen(0, "127.0.0.1", resolve));
    const address = failing.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const failingStorage = s3Storage({ ...account, endpoint: `http://127.0.0.1:${port}` });
    await expect(failingStorage.head("a")).rejects.toBeInstanceOf(StorageUnavailable);
    expect(requests).toBe(2);
    failingStorage.close();
    failing.close();
  },
);

test("wrong credentials are not an outage: their error is passed on unchanged", async () => {
  const wrong = s3Storage({ ...account, endpoint: store.url, secretAccessKey: "wrong" });
  const refused = wrong.delete("a");
  await expect(refused).rejects.toMatchObject({ name: "SignatureDoesNotMatch" });
  await expect(refused).rejects.not.toBeInstanceOf(StorageUnavailable);
  wrong.close();
});
