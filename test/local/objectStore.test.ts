import { type ChildProcess, spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { createRequire } from "node:module";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { GetObjectCommand, HeadObjectCommand, PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startObjectStore } from "../../server/local/objectStore/start.ts";

interface Aws4Request {
  method: string;
  host: string;
  path: string;
  service: "s3";
  region: string;
  headers?: Record<string, string | number>;
  body?: string;
  signQuery?: boolean;
  extraHeadersToInclude?: Record<string, true>;
}

interface Aws4Signed {
  path: string;
  headers: Record<string, string>;
}

interface Aws4 {
  sign(request: Aws4Request, credentials: { accessKeyId: string; secretAccessKey: string }): Aws4Signed;
}

// aws4 has no types. With `require` we can declare the part that we use.
const aws4: Aws4 = createRequire(import.meta.url)("aws4");

const credentials = { accessKeyId: "AKIDTEST", secretAccessKey: "a secret of the tests/+=" };
const bucket = "rebid";
const region = "eu-test-1";
const clock = { offsetMs: 0 };
const directory = mkdtempSync(join(tmpdir(), "objectStore-"));
const settings = {
  directory,
  bucket,
  region,
  ...credentials,
  now: () => Date.now() + clock.offsetMs,
};

let store: { url: string; stop(): Promise<void> };
let host: string;
let client: S3Client;

beforeAll(async () => {
  store = await startObjectStore(settings);
  host = new URL(store.url).host;
  client = clientOf(store.url);
});

afterAll(async () => {
  client.destroy();
  await store.stop();
  rmSync(directory, { recursive: true });
});

function clientOf(
  endpoint: string,
  overrides: { secretAccessKey?: string; accessKeyId?: string; region?: string } = {},
) {
  return new S3Client({
    endpoint,
    forcePathStyle: true,
    region: overrides.region ?? region,
    credentials: { ...credentials, ...overrides },
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    maxAttempts: 1,
  });
}

function uploadUrl(key: string, body: string, signer = client, expiresIn = 60): Promise<string> {
  const command = new PutObjectCommand({
    Bucket: bucket,
    Key: key,
    ContentType: "text/plain",
    ContentLength: Buffer.byteLength(body),
  });
  return getSignedUrl(signer, command, {
    expiresIn,
    signableHeaders: new Set(["host", "content-type", "content-length"]),
  });
}

function downloadUrl(key: string, extra: { ResponseContentType?: string; ResponseContentDisposition?: string } = {}) {
  return getSignedUrl(client, new GetObjectCommand({ Bucket: bucket, Key: key, ...extra }), { expiresIn: 60 });
}

function upload(url: string, body: string, mimeType = "text/plain"): Promise<Response> {
  return fetch(url, { method: "PUT", body, headers: { "Content-Type": mimeType } });
}

async function stored(key: string, body: string): Promise<void> {
  const response = await upload(await uploadUrl(key, body), body);
  expect(response.status).toBe(200);
}

async function outcome(response: Response): Promise<string> {
  const code = /<Code>(\w+)<\/Code>/.exec(await response.text())?.[1];
  return `${response.status} ${code ?? "no code"}`;
}

/** Sends a request signed by aws4 with node:http, which sends it unchanged. */
function aws4Request(
  method: string,
  path: string,
  options: {
    body?: string;
    headers?: Record<string, string | number>;
    signQuery?: boolean;
    credentials?: typeof credentials;
    service?: { region: string };
    after?: (signed: Aws4Signed) => void;
    sentBody?: string;
    sentMethod?: string;
  } = {},
): Promise<{ outcome: string; body: string; headers: NodeJS.Dict<string | string[]> }> {
  const signed = aws4.sign(
    {
      method,
      host,
      path,
      service: "s3",
      region: options.service?.region ?? region,
      headers: options.headers ?? {},
      ...(options.body === undefined ? {} : { body: options.body }),
      ...(options.signQuery === undefined ? {} : { signQuery: options.signQuery }),
      extraHeadersToInclude: { range: true },
    },
    options.credentials ?? credentials,
  );
  options.after?.(signed);
  return rawRequest(options.sentMethod ?? method, signed.path, signed.headers, options.sentBody ?? options.body);
}

function rawRequest(method: string, path: string, headers: Record<string, string | number>, body?: string) {
  return new Promise<{ outcome: string; body: string; headers: NodeJS.Dict<string | string[]> }>((resolve, reject) => {
    const { hostname, port } = new URL(store.url);
    const request = httpRequest({ hostname, port, method, path, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const text = Buffer.concat(chunks).toString();
        const code = /<Code>(\w+)<\/Code>/.exec(text)?.[1];
        const status = `${response.statusCode}${code === undefined ? "" : ` ${code}`}`;
        resolve({ outcome: status, body: text, headers: response.headers });
      });
    });
    request.on("error", reject);
    request.end(body);
  });
}

/** Sends these bytes and returns everything that the store answers until it closes the connection. */
function rawSocket(bytes: string, end = false): Promise<string> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(store.url);
    const socket = connect(Number(port), hostname, () => (end ? socket.end(bytes) : socket.write(bytes)));
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk;
    });
    socket.on("close", () => resolve(text));
    socket.on("error", reject);
  });
}

async function exists(key: string): Promise<boolean> {
  return (await fetch(await downloadUrl(key))).status === 200;
}

function leftovers(): string[] {
  return readdirSync(join(directory, "incoming"));
}

async function until(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 5000;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error("the condition did not come true in 5 s");
    await sleep(5);
  }
}

describe("a stored object", () => {
  test("is returned byte for byte, with its type, length, ETag and SHA-256", async () => {
    const body = "héllo, wörld";
    await stored("objects/plain name é+&.txt", body);
    const response = await fetch(await downloadUrl("objects/plain name é+&.txt"));
    expect(await response.text()).toBe(body);
    expect(response.headers.get("content-type")).toBe("text/plain");
    expect(response.headers.get("content-length")).toBe(String(Buffer.byteLength(body)));
    expect(response.headers.get("etag")).toBe(`"${createHash("md5").update(body).digest("hex")}"`);
    const head = await client.send(
      new HeadObjectCommand({ Bucket: bucket, Key: "objects/plain name é+&.txt", ChecksumMode: "ENABLED" }),
    );
    expect(head.ChecksumSHA256).toBe(createHash("sha256").update(body).digest("base64"));
  });

  test("can be empty", async () => {
    await stored("objects/empty", "");
    const response = await fetch(await downloadUrl("objects/empty"));
    expect([response.status, await response.text()]).toEqual([200, ""]);
  });

  test("is served in a way that a browser neither guesses its type nor runs it", async () => {
    await stored("objects/page", "<script>alert(1)</script>");
    const { headers } = await fetch(
      await downloadUrl("objects/page", {
        ResponseContentType: "text/html",
        ResponseContentDisposition: 'attachment; filename="page.html"',
      }),
    );
    expect(headers.get("content-type")).toBe("text/html");
    expect(headers.get("content-disposition")).toBe('attachment; filename="page.html"');
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("content-security-policy")).toContain("sandbox");
    expect(headers.get("content-security-policy")).toContain("default-src 'none'");
  });

  test("no longer exists once deleted, and deleting it again succeeds", async () => {
    await stored("objects/deleted", "x");
    expect((await aws4Request("DELETE", `/${bucket}/objects/deleted`)).outcome).toBe("204");
    expect((await aws4Request("DELETE", `/${bucket}/objects/deleted`)).outcome).toBe("204");
    expect(await outcome(await fetch(await downloadUrl("objects/deleted")))).toBe("404 NoSuchKey");
  });

  test("survives a restart", async () => {
    const own = mkdtempSync(join(tmpdir(), "objectStore-"));
    const first = await startObjectStore({ ...settings, directory: own });
    const firstClient = clientOf(first.url);
    await firstClient.send(new PutObjectCommand({ Bucket: bucket, Key: "kept", Body: "kept", ContentType: "a/b" }));
    firstClient.destroy();
    await first.stop();
    const second = await startObjectStore({ ...settings, directory: own });
    const secondClient = clientOf(second.url);
    const found = await secondClient.send(new GetObjectCommand({ Bucket: bucket, Key: "kept" }));
    expect([await found.Body?.transformToString(), found.ContentType]).toEqual(["kept", "a/b"]);
    secondClient.destroy();
    await second.stop();
    rmSync(own, { recursive: true });
  });

  test("is read completely even if it is replaced in the meantime", async () => {
    const before = "a".repeat(4_000_000);
    await stored("objects/replaced", before);
    const response = await fetch(await downloadUrl("objects/replaced"));
    await stored("objects/replaced", "b");
    expect(await response.text()).toBe(before);
  });
});

describe("ranges", () => {
  const cases: [string, number, string, string | null][] = [
    ["bytes=0-3", 206, "0123", "bytes 0-3/10"],
    ["bytes=4-", 206, "456789", "bytes 4-9/10"],
    ["bytes=-3", 206, "789", "bytes 7-9/10"],
    ["bytes=-99", 206, "0123456789", "bytes 0-9/10"],
    ["bytes=8-99", 206, "89", "bytes 8-9/10"],
    ["bytes=5-2", 200, "0123456789", null],
    ["bytes=0-1,4-5", 200, "0123456789", null],
    ["lines=0-1", 200, "0123456789", null],
  ];
  test.each(cases)("%s returns %i %j", async (range, status, body, contentRange) => {
    await stored("ranges/digits", "0123456789");
    const response = await fetch(await downloadUrl("ranges/digits"), { headers: { Range: range } });
    expect([response.status, await response.text()]).toEqual([status, body]);
    expect(response.headers.get("content-range")).toBe(contentRange);
  });

  test.each(["bytes=10-", "bytes=-0"])("%s, outside the object, gets 416", async (range) => {
    await stored("ranges/digits", "0123456789");
    const response = await fetch(await downloadUrl("ranges/digits"), { headers: { Range: range } });
    expect(response.headers.get("content-range")).toBe("bytes */10");
    expect(await outcome(response)).toBe("416 InvalidRange");
  });

  test("If-Range with another ETag returns the whole object", async () => {
    await stored("ranges/digits", "0123456789");
    const headers = { Range: "bytes=0-3", "If-Range": '"old"' };
    expect((await fetch(await downloadUrl("ranges/digits"), { headers })).status).toBe(200);
  });
});

describe("a presigned URL", () => {
  test("with another secret is refused", async () => {
    const stranger = clientOf(store.url, { secretAccessKey: "guessed" });
    expect(await outcome(await upload(await uploadUrl("presigned/a", "x", stranger), "x"))).toBe(
      "403 SignatureDoesNotMatch",
    );
    stranger.destroy();
  });

  test("with an unknown access key is refused", async () => {
    const stranger = clientOf(store.url, { accessKeyId: "AKIDOTHER" });
    expect(await outcome(await upload(await uploadUrl("presigned/a", "x", stranger), "x"))).toBe(
      "403 InvalidAccessKeyId",
    );
    stranger.destroy();
  });

  test("for another region is refused", async () => {
    const stranger = clientOf(store.url, { region: "us-east-1" });
    expect(await outcome(await upload(await uploadUrl("presigned/a", "x", stranger), "x"))).toBe(
      "400 AuthorizationQueryParametersError",
    );
    stranger.destroy();
  });

  const tampered: [string, (url: string) => string, string][] = [
    ["another key", (url) => url.replace("/presigned/", "/presigned2/"), "403 SignatureDoesNotMatch"],
    ["another bucket", (url) => url.replace(`/${bucket}/`, "/other/"), "403 SignatureDoesNotMatch"],
    ["a longer expiry", (url) => url.replace("Expires=60", "Expires=600"), "403 SignatureDoesNotMatch"],
    [
      "another second",
      (url) => url.replace(/(?<=Date=\d{8}T\d{5})\d/, (digit) => (digit === "0" ? "1" : "0")),
      "403 SignatureDoesNotMatch",
    ],
    ["an added parameter", (url) => `${url}&response-content-type=text/html`, "403 SignatureDoesNotMatch"],
    ["an operation's parameter", (url) => `${url}&acl`, "501 NotImplemented"],
    ["a parameter twice", (url) => `${url}&X-Amz-Expires=60`, "400 InvalidArgument"],
    ["no signed type", (url) => url.replace("content-length%3Bcontent-type%3B", ""), "403 AccessDenied"],
    [
      "signed headers out of order",
      (url) => url.replace("content-length%3Bcontent-type", "content-type%3Bcontent-length"),
      "400 AuthorizationQueryParametersError",
    ],
    ["another signature", (url) => url.replace(/Signature=..../, "Signature=0000"), "403 SignatureDoesNotMatch"],
    [
      "a short signature",
      (url) => url.replace(/Signature=....(?=[0-9a-f])/, "Signature="),
      "403 SignatureDoesNotMatch",
    ],
    ["an expiry of 0", (url) => url.replace("Expires=60", "Expires=0"), "400 AuthorizationQueryParametersError"],
    [
      "an expiry of 8 days",
      (url) => url.replace("Expires=60", "Expires=691200"),
      "400 AuthorizationQueryParametersError",
    ],
    [
      "an expiry that is no number",
      (url) => url.replace("Expires=60", "Expires=6e1"),
      "400 AuthorizationQueryParametersError",
    ],
    [
      "an impossible date",
      (url) => url.replace(/Date=\d{8}T/, "Date=20261399T"),
      "400 AuthorizationQueryParametersError",
    ],
    ["no signature", (url) => url.replace(/&X-Amz-Signature=[0-9a-f]+/, ""), "400 AuthorizationQueryParametersError"],
    [
      "a scope of another day",
      (url) => url.replace(/%2F\d{8}%2F/, "%2F20200101%2F"),
      "400 AuthorizationQueryParametersError",
    ],
    ["another service", (url) => url.replace("%2Fs3%2F", "%2Fec2%2F"), "400 AuthorizationQueryParametersError"],
    ["nothing signed at all", (url) => url.replace(/\?.*/, ""), "403 AccessDenied"],
  ];
  test.each(tampered)("changed to %s is refused, and nothing is stored", async (_name, change, expected) => {
    const url = await uploadUrl("presigned/tampered", "x");
    expect(change(url)).not.toBe(url);
    const result = await outcome(await upload(change(url), "x"));
    expect(result).toBe(expected);
    expect(await exists("presigned/tampered")).toBe(false);
  });

  test("expires, and is not valid before its date", async () => {
    const url = await uploadUrl("presigned/expiring", "x");
    try {
      clock.offsetMs = 61_000;
      expect(await outcome(await upload(url, "x"))).toBe("403 AccessDenied");
      clock.offsetMs = -16 * 60_000;
      expect(await outcome(await upload(url, "x"))).toBe("403 AccessDenied");
    } finally {
      clock.offsetMs = 0;
    }
    expect(await exists("presigned/expiring")).toBe(false);
  });

  test("refuses another type, a missing type and another length", async () => {
    const url = await uploadUrl("presigned/bound", "four");
    expect(await outcome(await upload(url, "four", "text/html"))).toBe("403 SignatureDoesNotMatch");
    expect(await outcome(await fetch(url, { method: "PUT", body: Buffer.from("four") }))).toBe(
      "403 SignatureDoesNotMatch",
    );
    expect(await outcome(await upload(url, "fiver"))).toBe("403 SignatureDoesNotMatch");
    expect(await outcome(await upload(url, "thr"))).toBe("403 SignatureDoesNotMatch");
    expect(await exists("presigned/bound")).toBe(false);
  });

  test("refuses another method", async () => {
    await stored("presigned/method", "x");
    const put = await uploadUrl("presigned/method", "x");
    const get = await downloadUrl("presigned/method");
    expect(await outcome(await fetch(put))).toBe("403 SignatureDoesNotMatch");
    expect(await outcome(await fetch(get, { method: "DELETE" }))).toBe("403 SignatureDoesNotMatch");
    expect((await fetch(get, { method: "HEAD" })).status).toBe(403);
    expect(await outcome(await fetch(get, { method: "POST" }))).toBe("405 MethodNotAllowed");
    expect(await exists("presigned/method")).toBe(true);
  });

  test("refuses x-amz headers that the signature does not cover", async () => {
    const url = await uploadUrl("presigned/extra", "x");
    const headers = { "Content-Type": "text/plain", "x-amz-copy-source": `/${bucket}/other` };
    expect(await outcome(await fetch(url, { method: "PUT", body: "x", headers }))).toBe("403 AccessDenied");
  });

  test("signed by aws4 works too, but not together with an Authorization header", async () => {
    const headers = { "Content-Type": "text/plain", "Content-Length": 4 };
    const path = `/${bucket}/presigned/aws4`;
    const put = await aws4Request("PUT", path, { headers, signQuery: true, sentBody: "aws4" });
    expect(put.outcome).toBe("200");
    expect((await aws4Request("GET", path, { signQuery: true })).body).toBe("aws4");
    const both = await aws4Request("GET", path, {
      signQuery: true,
      after: ({ headers: sent }) => {
        sent.Authorization = "AWS4-HMAC-SHA256 x";
      },
    });
    expect(both.outcome).toBe("400 InvalidArgument");
  });
});

describe("a request with an Authorization header", () => {
  test("signed by aws4 is served: put, get with a signed range, head, delete", async () => {
    const path = `/${bucket}/header/a%20name%21`;
    const headers = { "Content-Type": "text/plain" };
    expect((await aws4Request("PUT", path, { body: "0123456789", headers })).outcome).toBe("200");
    const part = await aws4Request("GET", path, { headers: { Range: "bytes=2-4" } });
    expect([part.outcome, part.body]).toEqual(["206", "234"]);
    expect((await aws4Request("HEAD", path)).headers["content-length"]).toBe("10");
    expect((await aws4Request("DELETE", path)).outcome).toBe("204");
  });

  test("is refused with a wrong secret, another region, another method or a date 16 minutes off", async () => {
    const path = `/${bucket}/header/refused`;
    const wrong = { ...credentials, secretAccessKey: "guessed" };
    expect((await aws4Request("GET", path, { credentials: wrong })).outcome).toBe("403 SignatureDoesNotMatch");
    expect((await aws4Request("GET", path, { service: { region: "us-east-1" } })).outcome).toBe(
      "400 AuthorizationHeaderMalformed",
    );
    expect((await aws4Request("GET", path, { sentMethod: "DELETE" })).outcome).toBe("403 SignatureDoesNotMatch");
    for (const minutes of [16, -16]) {
      clock.offsetMs = minutes * 60_000;
      expect((await aws4Request("GET", path)).outcome).toBe("403 RequestTimeTooSkewed");
    }
    clock.offsetMs = 14 * 60_000;
    expect((await aws4Request("GET", path)).outcome).toBe("404 NoSuchKey");
    clock.offsetMs = 0;
  });

  test("stores nothing if the body is not the signed one", async () => {
    const path = `/${bucket}/header/body`;
    const headers = { "Content-Type": "text/plain" };
    const swapped = await aws4Request("PUT", path, { body: "signed", headers, sentBody: "other!" });
    expect(swapped.outcome).toBe("400 XAmzContentSHA256Mismatch");
    const digest = { "Content-Type": "text/plain", "Content-MD5": "1B2M2Y8AsgTpgAmY7PhCfg==" };
    expect((await aws4Request("PUT", path, { body: "x", headers: digest })).outcome).toBe("400 BadDigest");
    expect(await exists("header/body")).toBe(false);
    expect(leftovers()).toEqual([]);
  });

  test("is refused without a date or payload hash, or with a header that is not signed", async () => {
    const path = `/${bucket}/header/incomplete`;
    const without = (name: string) => (signed: Aws4Signed) => {
      delete signed.headers[name];
    };
    expect((await aws4Request("GET", path, { after: without("X-Amz-Date") })).outcome).toBe("403 AccessDenied");
    expect((await aws4Request("GET", path, { after: without("X-Amz-Content-Sha256") })).outcome).toBe(
      "400 InvalidRequest",
    );
    const added = (signed: Aws4Signed) => {
      signed.headers["x-amz-acl"] = "public-read";
    };
    expect((await aws4Request("GET", path, { after: added })).outcome).toBe("403 AccessDenied");
    const acl = await aws4Request("PUT", path, { body: "x", headers: { "x-amz-acl": "public-read" } });
    expect(acl.outcome).toBe("501 NotImplemented");
    const garbled = (signed: Aws4Signed) => {
      signed.headers.Authorization = "Bearer x";
    };
    expect((await aws4Request("GET", path, { after: garbled })).outcome).toBe("400 AuthorizationHeaderMalformed");
  });

  test("can make a write conditional: of twenty concurrent writes, exactly one is stored", async () => {
    const headers = { "Content-Type": "text/plain", "If-None-Match": "*" };
    const attempts = Array.from({ length: 20 }, (_, index) =>
      aws4Request("PUT", `/${bucket}/header/once`, { body: `writer ${index}`, headers }),
    );
    const outcomes = (await Promise.all(attempts)).map((attempt) => attempt.outcome).sort();
    expect(outcomes).toEqual(["200", ...Array(19).fill("412 PreconditionFailed")]);
  });

  test("copies within the bucket, and nothing else", async () => {
    await stored("copies/é source", "copied");
    const copy = (source: string, to: string) =>
      aws4Request("PUT", `/${bucket}/${to}`, { headers: { "x-amz-copy-source": source, "Content-Length": 0 } });
    expect((await copy(`/${bucket}/copies/%C3%A9%20source`, "copies/target")).outcome).toBe("200");
    await stored("copies/é source", "changed");
    expect(await (await fetch(await downloadUrl("copies/target"))).text()).toBe("copied");
    expect((await copy(`${bucket}/copies/missing`, "copies/other")).outcome).toBe("404 NoSuchKey");
    expect((await copy("elsewhere/copies/target", "copies/other")).outcome).toBe("404 NoSuchBucket");
    expect((await copy(`${bucket}/copies/../target`, "copies/other")).outcome).toBe("400 InvalidURI");
    expect((await copy(`${bucket}/copies/target`, "copies/target")).outcome).toBe("400 InvalidRequest");
    expect(leftovers()).toEqual([]);
  });
});

describe("a body", () => {
  const head = (url: string, lines: string[]) => {
    const { pathname, search, host: name } = new URL(url);
    return [`PUT ${pathname}${search} HTTP/1.1`, `Host: ${name}`, "Content-Type: text/plain", ...lines, "", ""].join(
      "\r\n",
    );
  };

  test("that is cut off leaves nothing", async () => {
    const url = await uploadUrl("bodies/truncated", "0123456789");
    await rawSocket(`${head(url, ["Content-Length: 10"])}01234`, true);
    await until(() => leftovers().length === 0);
    expect(await exists("bodies/truncated")).toBe(false);
  });

  test("longer than announced is cut: the surplus is a malformed next request", async () => {
    const url = await uploadUrl("bodies/surplus", "0123");
    const answer = await rawSocket(`${head(url, ["Content-Length: 4"])}0123SURPLUS\r\n\r\n`);
    expect(answer).toContain("400 Bad Request");
    const response = await fetch(await downloadUrl("bodies/surplus"));
    if (response.status === 200) expect(await response.text()).toBe("0123");
  });

  test("without a length, or chunked, is refused", async () => {
    const url = await uploadUrl("bodies/chunked", "0123");
    const unknown = await rawSocket(head(url, ["Connection: close"]));
    expect(unknown).toMatch(/^HTTP\/1.1 411 .*<Code>MissingContentLength/s);
    const chunked = await rawSocket(
      `${head(url, ["Connection: close", "Transfer-Encoding: chunked"])}4\r\n0123\r\n0\r\n\r\n`,
    );
    expect(chunked).toMatch(/^HTTP\/1.1 411 .*<Code>MissingContentLength/s);
    const both = await rawSocket(
      `${head(url, ["Connection: close", "Content-Length: 4", "Transfer-Encoding: chunked"])}4\r\n0123\r\n0\r\n\r\n`,
    );
    expect(both).toMatch(/^HTTP\/1.1 4(00|11) /);
    expect(await exists("bodies/chunked")).toBe(false);
  });

  test("over S3's 5 GiB is refused before it is sent", async () => {
    const bytes = 5 * 1024 ** 3 + 1;
    const command = new PutObjectCommand({
      Bucket: bucket,
      Key: "bodies/huge",
      ContentType: "text/plain",
      ContentLength: bytes,
    });
    const signableHeaders = new Set(["host", "content-type", "content-length"]);
    const url = await getSignedUrl(client, command, { expiresIn: 60, signableHeaders });
    const answer = await rawSocket(head(url, [`Content-Length: ${bytes}`, "Expect: 100-continue"]));
    expect(answer).toMatch(/^HTTP\/1.1 400 .*<Code>EntityTooLarge/s);
  });

  test("is requested with 100 Continue only if it would be accepted", async () => {
    const url = await uploadUrl("bodies/continue", "0123");
    const lines = ["Content-Length: 4", "Expect: 100-continue", "Connection: close"];
    expect(await rawSocket(`${head(url, lines)}0123`)).toMatch(/^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200 /);
    expect(await rawSocket(head(url.replace("continue", "Continue"), lines))).toMatch(/^HTTP\/1.1 403 /);
  });
});

describe("a key", () => {
  const traversal = [
    "../outside",
    "a/../../outside",
    "%2e%2e/outside",
    "..%2foutside",
    "..%2Foutside",
    "a%2Fb",
    "%2Fetc%2Fpasswd",
    "..%5coutside",
    "..%5Coutside",
    "a%5Cb",
    "./a",
    "a/./b",
    "a//b",
    "/a",
    "a/",
    "a%00b",
    "%00",
    "a%0Ab",
    "a%7Fb",
    "%zz",
    "%",
    "%C0%AE%C0%AE/outside",
    "%ff",
    "a+b",
    "a%7eb",
  ];
  test.each(traversal)("%s is refused, signed or not", async (key) => {
    const headers = { "Content-Type": "text/plain" };
    expect((await rawRequest("GET", `/${bucket}/${key}`, { Host: host })).outcome).toBe("400 InvalidURI");
    // aws4 cannot express some of these paths, so the signature is for a plain one. The path is checked first.
    const put = await aws4Request("PUT", `/${bucket}/plain`, {
      body: "x",
      headers,
      after: (signed) => {
        signed.path = `/${bucket}/${key}`;
      },
    });
    expect(put.outcome).toBe("400 InvalidURI");
  });

  test("can have at most 1,024 bytes", async () => {
    await stored("k".repeat(1024), "x");
    expect(await exists("k".repeat(1024))).toBe(true);
    expect(await outcome(await fetch(await downloadUrl("k".repeat(1025))))).toBe("400 KeyTooLongError");
    expect(await outcome(await fetch(await downloadUrl("é".repeat(513))))).toBe("400 KeyTooLongError");
  });

  test("never appears in a file name: the directory contains only digests", async () => {
    await stored("objects/named.txt", "x");
    expect(readdirSync(directory).sort()).toEqual(["incoming", "keys", "objects"]);
    for (const name of ["keys", "objects"].flatMap((folder) => readdirSync(join(directory, folder))))
      expect(name).toMatch(/^[0-9a-f]{64}$/);
    expect(existsSync(join(directory, "..", "outside"))).toBe(false);
  });

  test("in another bucket, or an empty key, is not served", async () => {
    expect((await aws4Request("GET", "/other/key")).outcome).toBe("404 NoSuchBucket");
    expect((await aws4Request("GET", `/${bucket}`)).outcome).toBe("501 NotImplemented");
    expect((await rawRequest("GET", `http://${host}/${bucket}/a`, { Host: host })).outcome).toBe("400 InvalidURI");
  });
});

describe("browsers", () => {
  test("can PUT and GET from any page", async () => {
    const url = await uploadUrl("browsers/a", "x");
    const preflight = await fetch(url, {
      method: "OPTIONS",
      headers: { Origin: "https://a.example", "Access-Control-Request-Method": "PUT" },
    });
    expect(preflight.status).toBe(200);
    expect(preflight.headers.get("access-control-allow-origin")).toBe("*");
    expect(preflight.headers.get("access-control-allow-methods")).toContain("PUT");
    expect(preflight.headers.get("access-control-allow-headers")).toBe("*");
    expect((await upload(url, "x")).headers.get("access-control-allow-origin")).toBe("*");
    // A page must also be able to read an error.
    expect((await upload(`${url}0`, "x")).headers.get("access-control-allow-origin")).toBe("*");
  });

  test("need not reload what they have cached", async () => {
    await stored("browsers/cached", "x");
    const url = await downloadUrl("browsers/cached");
    const tag = (await fetch(url)).headers.get("etag") ?? "";
    // With node:http, because fetch hides a 304 behind its cache mode.
    const { pathname, search } = new URL(url);
    const again = await rawRequest("GET", pathname + search, { Host: host, "If-None-Match": tag });
    expect(again.outcome).toBe("304");
  });
});

describe("the process", () => {
  const script = `
    import { startObjectStore } from ${JSON.stringify(join(import.meta.dirname, "../../server/local/objectStore/start.ts"))};
    const { url } = await startObjectStore(JSON.parse(process.argv[1]));
    console.log(url);
    setInterval(() => console.log("rss " + process.memoryUsage().rss), 20);
  `;

  /** Starts a store in a separate process. */
  async function spawnStore(own: string): Promise<{ url: string; child: ChildProcess; peakRss: () => number }> {
    const options = JSON.stringify({ directory: own, bucket, region, ...credentials });
    const child = spawn(process.execPath, ["--input-type=module", "-e", script, options], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let output = "";
    child.stdout.on("data", (chunk) => {
      output += chunk;
    });
    await until(() => output.includes("\n"));
    const peakRss = () => Math.max(...[...output.matchAll(/^rss (\d+)$/gm)].map((match) => Number(match[1])));
    return { url: output.slice(0, output.indexOf("\n")), child, peakRss };
  }

  async function kill(child: ChildProcess): Promise<void> {
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await ended;
  }

  async function put(url: string, key: string, body: ReadableStream | Buffer, bytes: number): Promise<Response> {
    const signer = clientOf(url);
    const command = new PutObjectCommand({ Bucket: bucket, Key: key, ContentType: "a/b", ContentLength: bytes });
    const signableHeaders = new Set(["host", "content-type", "content-length"]);
    const signed = await getSignedUrl(signer, command, { expiresIn: 60, signableHeaders });
    signer.destroy();
    const headers = { "Content-Type": "a/b", "Content-Length": String(bytes) };
    return fetch(signed, { method: "PUT", headers, body, duplex: "half" });
  }

  test("killed during a PUT leaves nothing of it and keeps everything stored before", async () => {
    const own = mkdtempSync(join(tmpdir(), "objectStore-"));
    const first = await spawnStore(own);
    expect((await put(first.url, "before", Buffer.from("before"), 6)).status).toBe(200);
    const half = new ReadableStream({
      start: (controller) => controller.enqueue(randomBytes(100_000)),
    });
    const interrupted = put(first.url, "interrupted", half, 200_000).catch(() => "failed");
    await until(() => readdirSync(join(own, "incoming")).length === 1);
    await kill(first.child);
    expect(await interrupted).toBe("failed");
    expect(readdirSync(join(own, "incoming"))).toHaveLength(1);

    const second = await startObjectStore({ ...settings, directory: own });
    const reader = clientOf(second.url);
    const found = await reader.send(new GetObjectCommand({ Bucket: bucket, Key: "before" }));
    expect(await found.Body?.transformToString()).toBe("before");
    await expect(reader.send(new HeadObjectCommand({ Bucket: bucket, Key: "interrupted" }))).rejects.toThrow();
    expect(readdirSync(join(own, "incoming"))).toEqual([]);
    reader.destroy();
    await second.stop();
    rmSync(own, { recursive: true });
  });

  test("receives and returns 200 MB without holding them in memory", async () => {
    const own = mkdtempSync(join(tmpdir(), "objectStore-"));
    const { url, child, peakRss } = await spawnStore(own);
    await until(() => peakRss() > 0);
    const rssBefore = peakRss();
    const bytes = 200_000_000;
    const chunk = Buffer.alloc(1_000_000, "x");
    let sent = 0;
    const body = new ReadableStream({
      pull: (controller) => {
        controller.enqueue(chunk);
        sent += chunk.length;
        if (sent === bytes) controller.close();
      },
    });
    expect((await put(url, "large", body, bytes)).status).toBe(200);
    const reader = clientOf(url);
    const signed = await getSignedUrl(reader, new GetObjectCommand({ Bucket: bucket, Key: "large" }), {
      expiresIn: 60,
    });
    reader.destroy();
    let received = 0;
    for await (const part of (await fetch(signed)).body ?? []) received += part.length;
    expect(received).toBe(bytes);
    expect(peakRss() - rssBefore).toBeLessThan(100_000_000);
    await kill(child);
    rmSync(own, { recursive: true });
  });
});
