import { createHash } from "node:crypto";
import { createServer, type RequestListener } from "node:http";
import { createRequire } from "node:module";
import { afterAll, beforeAll, expect, test } from "vitest";
import { s3Storage } from "../../server/gateways/s3Storage.ts";
import { createSealedKey, type Storage } from "../../server/gateways/storage.ts";
import { StorageUnavailable } from "../../server/gateways/storageErrors.ts";
import { startTestStore, storeHasChecksums, type TestStore } from "../setup/testStore.ts";

/** aws4 has no types. This is the part that we use: it signs a request in its query. */
const aws4: {
  sign(
    request: { host: string; path: string; service: string; region: string; signQuery: true },
    credentials: { accessKeyId: string; secretAccessKey: string },
  ): { path: string };
} = createRequire(import.meta.url)("aws4");

const amazonAccount = { bucket: "rebid", region: "us-east-1", accessKeyId: "AKIDTEST", secretAccessKey: "a secret" };
let store: TestStore;
let storage: Storage;

beforeAll(async () => {
  store = await startTestStore();
  storage = s3Storage(store.settings);
});

afterAll(async () => {
  storage.close();
  await store.stop();
});

function presign(storageKey: string, body: string, mimeType = "text/plain"): Promise<string> {
  return storage.presignUpload({ storageKey, mimeType, bytes: Buffer.byteLength(body), expiresInSeconds: 60 });
}

async function put(url: string, body: string, mimeType = "text/plain"): Promise<number> {
  return (await fetch(url, { method: "PUT", body, headers: { "Content-Type": mimeType } })).status;
}

const seal = (storageKey: string) => storage.seal(storageKey, createSealedKey(storageKey), 3);

/** The checksum of a whole object, from stores that compute it. */
const sha256Of = (body: string) => (storeHasChecksums ? createHash("sha256").update(body).digest("hex") : null);

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
    sha256: sha256Of("hello"),
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
  const sealed = await seal("deliveries/1/a");
  expect(sealed).toMatchObject({ bytes: 5, mimeType: "text/plain" });
  expect(Buffer.from(sealed?.start ?? []).toString()).toBe("fir");
  expect(sealed?.sha256).toBe(sha256Of("first"));
  expect(await put(url, "other")).toBe(200);
  expect(await content(sealed?.storageKey ?? "")).toBe("first");
  await storage.delete("deliveries/1/a");
  expect(await put(url, "third")).toBe(200);
  expect(await content(sealed?.storageKey ?? "")).toBe("first");
});

test("nothing can be uploaded under a sealed key", async () => {
  await put(await presign("samples/1/sealed", "x"), "x");
  const sealed = await seal("samples/1/sealed");
  await expect(presign(sealed?.storageKey ?? "", "x")).rejects.toThrow("sealed");
});

test("what the service writes is stored under sealed keys only, and replaces itself", async () => {
  const key = "sealed/exports/1";
  await storage.write(key, "text/csv", Buffer.from("first"));
  await storage.write(key, "text/csv", Buffer.from("second"));
  expect([await content(key), (await storage.head(key))?.mimeType]).toEqual(["second", "text/csv"]);
  await expect(storage.write("samples/1/open", "text/csv", Buffer.from("x"))).rejects.toThrow("sealed");
});

test("a sealed key never repeats, and is not among the uploads", () => {
  const [first, second] = [createSealedKey("samples/1/twice"), createSealedKey("samples/1/twice")];
  expect(first).not.toBe(second);
  expect(first).toMatch(/^sealed\/samples\/1\/twice\//);
});

test("a part of an object is read, and no more", async () => {
  await put(await presign("samples/1/read", "0123456789"), "0123456789");
  const read = async (start: number, end: number) =>
    Buffer.from(await storage.read("samples/1/read", start, end)).toString();
  expect(await read(0, 4)).toBe("0123");
  expect(await read(7, 10)).toBe("789");
  expect(await read(0, 10)).toBe("0123456789");
  await expect(read(5, 20)).rejects.toBeInstanceOf(StorageUnavailable);
});

/** An object store that answers every request with `answer`. */
async function pretendedStore(answer: RequestListener) {
  const server = createServer(answer);
  let connections = 0;
  server.on("connection", () => connections++);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const pretended = s3Storage({ ...amazonAccount, endpoint: `http://127.0.0.1:${port}` });
  return {
    storage: pretended,
    connections: () => connections,
    stop() {
      pretended.close();
      server.close();
    },
  };
}

test("the connection of a read serves the next request", async () => {
  const { storage, connections, stop } = await pretendedStore((_request, response) => {
    response.writeHead(206, { "Content-Length": 3 }).end("abc");
  });
  for (let count = 0; count < 3; count++) expect(Buffer.from(await storage.read("a", 0, 3)).toString()).toBe("abc");
  expect(connections()).toBe(1);
  stop();
});

test("of a store that never stops sending, no more is taken than was asked for", async () => {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const { storage, stop } = await pretendedStore((_request, response) => {
    response.once("close", resolve);
    const send = () => {
      while (!response.destroyed && response.write("abc".repeat(1_000)));
    };
    response.writeHead(200).on("drain", send);
    send();
  });
  expect(Buffer.from(await storage.read("a", 0, 5)).toString()).toBe("abcab");
  await closed;
  stop();
});

/** What a store answers to CopyObject; its checksum is the one of "abc". */
const copyResult = (checksum: string) =>
  `<?xml version="1.0"?><CopyObjectResult><ETag>"a"</ETag>${checksum}</CopyObjectResult>`;
const checksumOfAbc = createHash("sha256").update("abc").digest();
const inBase64 = checksumOfAbc.toString("base64");

test.each([
  ["with the copy", `<ChecksumSHA256>${inBase64}</ChecksumSHA256>`, {}, ["PUT", "GET"]],
  ["with HEAD only", "", { "x-amz-checksum-sha256": inBase64 }, ["GET", "HEAD", "PUT"]],
  [
    "of its parts only",
    `<ChecksumSHA256>${inBase64}-2</ChecksumSHA256><ChecksumType>COMPOSITE</ChecksumType>`,
    { "x-amz-checksum-sha256": `${inBase64}-2`, "x-amz-checksum-type": "COMPOSITE" },
    ["GET", "HEAD", "PUT"],
  ],
])("a copy is described for a store that sends its checksum %s", async (_when, checksum, headers, methods) => {
  const asked: string[] = [];
  const { storage, stop } = await pretendedStore(({ method = "" }, response) => {
    asked.push(method);
    if (method === "PUT") return response.end(copyResult(checksum));
    const answer = { "Content-Type": "text/plain", "Content-Length": method === "GET" ? 2 : 3 };
    if (method === "HEAD") return response.writeHead(200, { ...answer, ...headers }).end();
    return response.writeHead(206, { ...answer, "Content-Range": "bytes 0-1/3" }).end("ab");
  });
  const sha256 = checksum.includes("COMPOSITE") ? null : checksumOfAbc.toString("hex");
  const sealed = await storage.seal("a", "sealed/a", 2);
  expect(sealed).toEqual({
    storageKey: "sealed/a",
    mimeType: "text/plain",
    bytes: 3,
    sha256,
    start: Buffer.from("ab"),
  });
  expect(asked.toSorted()).toEqual(methods.toSorted());
  stop();
});

test("the size of a copy is right where the store sends all of it, and an empty one is none", async () => {
  let body = "abcdef";
  const { storage, stop } = await pretendedStore(({ method }, response) => {
    if (method === "PUT") return response.end(copyResult(`<ChecksumSHA256>${inBase64}</ChecksumSHA256>`));
    if (body !== "") return response.writeHead(200, { "Content-Length": body.length }).end(body);
    const refusal =
      "<?xml version='1.0'?><Error><Code>InvalidRange</Code><Message>The range is not satisfiable</Message></Error>";
    return response.writeHead(416, { "Content-Type": "application/xml" }).end(refusal);
  });
  expect(await storage.seal("a", "sealed/a", 2)).toMatchObject({ bytes: 6, start: Buffer.from("ab") });
  body = "";
  expect(await storage.seal("a", "sealed/a", 2)).toBeNull();
  stop();
});

test("objects are listed by prefix, in pages, in the order of their keys", async () => {
  const bodies = { "list/1/a": "a", "list/1/b&<": "b", "list/2/é": "c", "list/2/z": "d", "lists/1": "e" };
  for (const [key, body] of Object.entries(bodies)) await put(await presign(key, body), body);
  const keys = async (after: string, limit: number) =>
    (await storage.list("list/", after, limit)).map(({ storageKey }) => storageKey);
  expect(await keys("", 3)).toEqual(["list/1/a", "list/1/b&<", "list/2/z"]);
  expect(await keys("list/2/z", 3)).toEqual(["list/2/é"]);
  expect(await keys("list/2/é", 3)).toEqual([]);
  const [first] = await storage.list("list/", "", 1);
  expect(Math.abs(Date.now() - (first?.modifiedAt.getTime() ?? 0))).toBeLessThan(60_000);
});

test("head and seal return null for an upload that never arrived", async () => {
  expect(await storage.head("samples/1/missing")).toBeNull();
  expect(await seal("samples/1/missing")).toBeNull();
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
  const amazon = s3Storage({ ...amazonAccount, endpoint: null });
  const download = { storageKey: "samples/1/a b", fileName: "a.txt", mimeType: "text/plain", expiresInSeconds: 900 };
  const url = new URL(await amazon.presignDownload(download));
  amazon.close();
  expect(url.origin + url.pathname).toBe("https://rebid.s3.us-east-1.amazonaws.com/samples/1/a%20b");
  const parameters = url.search.slice(1).split("&");
  const unsigned = parameters.filter((parameter) => !parameter.startsWith("X-Amz-Signature=")).join("&");
  const request = { host: url.host, path: `${url.pathname}?${unsigned}`, service: "s3", region: amazonAccount.region };
  const { path } = aws4.sign({ ...request, signQuery: true }, amazonAccount);
  const signatureIn = (signed: string) => /[?&]X-Amz-Signature=([0-9a-f]{64})/.exec(signed)?.[1];
  expect(signatureIn(url.search)).toBe(signatureIn(path));
});

test("an address where nothing listens counts as StorageUnavailable", async () => {
  const gone = s3Storage({ ...amazonAccount, endpoint: "http://127.0.0.1:1" });
  await expect(gone.head("a")).rejects.toBeInstanceOf(StorageUnavailable);
  await expect(gone.delete("a")).rejects.toBeInstanceOf(StorageUnavailable);
  await expect(gone.seal("a", "b", 1)).rejects.toBeInstanceOf(StorageUnavailable);
  // Presigning sends no request.
  await gone.presignUpload({ storageKey: "a", mimeType: "text/plain", bytes: 1, expiresInSeconds: 60 });
  gone.close();
});

test.each([500, 503, 429])(
  "a response with status %i counts as StorageUnavailable, after one retry",
  async (status) => {
    let requests = 0;
    const { storage, stop } = await pretendedStore((_request, response) => {
      requests += 1;
      response.writeHead(status).end();
    });
    await expect(storage.head("a")).rejects.toBeInstanceOf(StorageUnavailable);
    expect(requests).toBe(2);
    stop();
  },
);

test("wrong credentials are not an outage: their error is passed on unchanged", async () => {
  const wrong = s3Storage({ ...store.settings, secretAccessKey: "wrong" });
  const refused = wrong.delete("a");
  await expect(refused).rejects.toMatchObject({ name: "SignatureDoesNotMatch" });
  await expect(refused).rejects.not.toBeInstanceOf(StorageUnavailable);
  wrong.close();
});
