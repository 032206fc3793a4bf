import { gzipSync } from "node:zlib";
import fc from "fast-check";
import type { Contract } from "./document.ts";
import { type Fault, judgeAnyResponse } from "./judge.ts";
import { BadHttp, sendRaw, takeResponse } from "./wire.ts";

/** Bytes for a connection of their own: a request that no HTTP library would send. */
export interface RawCase {
  name: string;
  /** Sent in this many packets. */
  packets: number;
  bytes: Buffer;
  /** The most requests that these bytes can be read as: more responses would mean that a body was read as a request. */
  maxResponses: number;
}

const HOST = "Host: x\r\n";
const get = (target = "/tasks?limit=1", version = "1.1") => `GET ${target} HTTP/${version}\r\n${HOST}\r\n`;
const post = (lines: string, body: string, target = "/auth/login") =>
  `POST ${target} HTTP/1.1\r\n${HOST}Content-Type: application/json\r\n${lines}\r\n${body}`;
const sized = (body: string | Buffer) => `Content-Length: ${Buffer.byteLength(body)}\r\n`;
const chunked = "Transfer-Encoding: chunked\r\n";

const bytes = fc.uint8Array({ minLength: 1, maxLength: 200 }).map((array) => Buffer.from(array).toString("latin1"));
const token = fc.constantFrom(
  "get",
  "FETCH",
  "GET\t",
  "PRI",
  "",
  "G\0T",
  "POST",
  "CONNECT",
  "TRACE",
  "OPTIONS",
  "DELETE",
);
const target = fc.constantFrom(
  "*",
  "/",
  "//",
  "/tasks#x",
  "/%",
  "/%zz",
  "/tasks/%00",
  "/tasks/%ff%fe",
  "/tasks/%ed%a0%80",
  "/tasks/..%2f..%2fetc%2fpasswd",
  "/trpc/%e0%a4%a",
  "/trpc/tasks.list?input=%ed%a0%80",
  "/trpc/tasks.list?input=%22%5cud800%22",
  "/mcp",
  "/mcp?x=%00",
  "/tasks?tag=%00",
  "/tasks?query=%f0%9f",
  "/tasks\0",
  "/tasks x",
  "/täsks",
  "http://",
  "http://[::1",
  "https://elsewhere.example/wallet",
  "elsewhere.example:443",
  `/${"a".repeat(30_000)}`,
  `/tasks?${"a&".repeat(6_000)}`,
  `/tasks/${"%2e%2e%2f".repeat(500)}`,
);
const header = fc.constantFrom(
  `${HOST}`,
  "Host: a\r\nHost: b\r\n",
  "",
  `${HOST} folded: x\r\n`,
  `${HOST}X : y\r\n`,
  `${HOST}X\0: y\r\n`,
  `${HOST}X: \0\r\n`,
  `${HOST}X: y\rZ: 1\r\n`,
  `${HOST}X: y\nZ: 1\n`,
  `${HOST}${"A: b\r\n".repeat(3_000)}`,
  `${HOST}X: ${"y".repeat(40_000)}\r\n`,
  `${HOST}Content-Length: 0\r\nContent-Length: 0\r\n`,
  `${HOST}Content-Length: 1, 1\r\n`,
  `${HOST}Content-Length: +5\r\n`,
  `${HOST}Content-Length: 99999999999999999999\r\n`,
  `${HOST}Transfer-Encoding: chunked, identity\r\n`,
  `${HOST}Transfer-Encoding: xchunked\r\n`,
  `${HOST}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n`,
  `${HOST}Connection: Upgrade\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n`,
  `${HOST}Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n`,
  `${HOST}Connection: content-length, host\r\n`,
  `${HOST}Expect: miracles\r\n`,
  `${HOST}Cookie: ${"a=b; ".repeat(2_000)}\r\n`,
  `${HOST}Cookie: rebid_session=%00%zz\r\n`,
  `${HOST}Authorization: Bearer\r\nAuthorization: Bearer rb_live_x\r\n`,
  `${HOST}Authorization: \u00ff\u00fe\r\n`,
  `${HOST}Origin: \u00ff\r\nContent-Encoding: gzip\r\n`,
);
const jsonBody = fc.constantFrom(
  '{"email":"a@b.cd","password":"\u0000"}',
  '{"email":"\ud800","password":"x"}',
  "\ufeff{}",
  '{"email":"a@b.cd","email":["x"],"password":1e999}',
  `{"a":${"[".repeat(1_000)}`,
  "\u0000".repeat(50),
  "{}",
  "",
);
const chunk = fc.constantFrom(
  "5\r\nhello\r\n",
  "zz\r\n",
  "-1\r\n",
  "ffffffffffffffff\r\n",
  "5;a=b\r\nhello\r\n",
  "5\nhello\n",
  "0\r\nX: y\r\n\r\n",
  "0\r\n\r\n",
  "5\r\nhelloo\r\n",
  " 5\r\nhello\r\n",
  "05\r\nhello\r\n",
);

function one(name: string, text: fc.Arbitrary<string | Buffer>, maxResponses: number): fc.Arbitrary<RawCase> {
  return fc.tuple(text, fc.constantFrom(1, 1, 2, 7)).map(([drawn, packets]) => ({
    name,
    packets,
    bytes: Buffer.isBuffer(drawn) ? drawn : Buffer.from(drawn, "latin1"),
    maxResponses,
  }));
}

/** Everything that can be wrong below a request's meaning. None of it can succeed in changing anything. */
export const rawCases: fc.Arbitrary<RawCase> = fc.oneof(
  one("noise", bytes, 1),
  one("a TLS greeting", fc.constant(Buffer.from("16030100c8010000c40303", "hex")), 1),
  one("an HTTP/2 preface", fc.constant("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0"), 1),
  one(
    "a method",
    fc.tuple(token, target).map(([method, path]) => `${method} ${path} HTTP/1.1\r\n${HOST}\r\n`),
    1,
  ),
  one(
    "a target",
    target.map((path) => get(path)),
    1,
  ),
  one(
    "a version",
    fc.constantFrom("0.9", "1.0", "1.2", "2.0", "9.9", "1", "x").map((version) => get("/tasks", version)),
    1,
  ),
  one(
    "headers",
    header.map((lines) => `GET /wallet HTTP/1.1\r\n${lines}\r\n`),
    1,
  ),
  one(
    "headers of a POST",
    fc
      .tuple(header, jsonBody)
      .map(
        ([lines, body]) =>
          `POST /auth/login HTTP/1.1\r\nContent-Type: application/json\r\n${lines}${sized(body)}\r\n${body}`,
      ),
    2,
  ),
  one(
    "chunks",
    fc.array(chunk, { minLength: 1, maxLength: 3 }).map((chunks) => post(chunked, chunks.join(""))),
    2,
  ),
  one(
    "chunks over HTTP/1.0",
    chunk.map((text) => post(chunked, text).replace("HTTP/1.1", "HTTP/1.0")),
    1,
  ),
  one(
    "a body",
    jsonBody.map((body) => post(sized(Buffer.from(body)), Buffer.from(body).toString("latin1"))),
    1,
  ),
  one(
    "a short body",
    jsonBody.map((body) => post("Content-Length: 5000\r\n", body)),
    1,
  ),
  one(
    "a cut request",
    fc.nat({ max: 90 }).map((length) => post(sized("{}"), "{}").slice(0, length)),
    1,
  ),
  one(
    "noise as gzip",
    bytes.map((noise) => post(`Content-Encoding: gzip\r\n${sized(Buffer.from(noise, "latin1"))}`, noise)),
    1,
  ),
  one(
    "cut gzip",
    fc.nat({ max: 30 }).map((length) => {
      const body = gzipSync('{"email":"a@b.cd","password":"x"}').subarray(0, length).toString("latin1");
      return post(`Content-Encoding: gzip\r\nContent-Length: ${length}\r\n`, body);
    }),
    1,
  ),
  one(
    "a pipeline",
    fc.tuple(fc.nat({ max: 5 }), bytes).map(([count, noise]) => get().repeat(count + 1) + noise),
    7,
  ),
  one(
    "a pipeline after a refused body",
    jsonBody.map((body) => {
      const text = Buffer.from(body).toString("latin1");
      return `POST /auth/login HTTP/1.1\r\n${HOST}Content-Type: text/plain\r\nContent-Length: ${text.length}\r\n\r\n${text}${get()}`;
    }),
    2,
  ),
);

/** Sends a case and returns what is wrong with what came back, or null. */
export async function tryRaw(
  contract: Contract,
  port: number,
  { packets, bytes: all, maxResponses }: RawCase,
): Promise<Fault | null> {
  const size = Math.ceil(all.length / packets);
  const parts = Array.from({ length: packets }, (_, index) => all.subarray(index * size, (index + 1) * size));
  // Our half is closed, so nothing more can come: the server must answer or close.
  const { received, closed } = await sendRaw(port, parts, { end: true, timeoutMs: 10_000 });
  if (!closed)
    return { what: "raw: the connection stays open after the client closed its half", detail: excerpt(received) };
  let rest = received;
  let responses = 0;
  try {
    while (rest.length > 0) {
      const taken = takeResponse(rest, { ended: true });
      if (taken === null) return { what: "raw: an incomplete response", detail: excerpt(rest) };
      rest = rest.subarray(taken.length);
      if (taken.response.status >= 200) responses++;
      const fault = judgeAnyResponse(contract, taken.response);
      if (fault !== null) return fault;
    }
  } catch (error) {
    if (error instanceof BadHttp) return { what: "raw: not HTTP", detail: `${error.message} in ${excerpt(received)}` };
    throw error;
  }
  if (responses > maxResponses) return { what: "raw: more responses than requests", detail: excerpt(received) };
  return null;
}

function excerpt(received: Buffer): string {
  return JSON.stringify(received.toString("latin1", 0, 600));
}
