import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { beforeAll, describe, expect, test } from "vitest";
import type { Route } from "../../server/http/routes.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { taskInput } from "../factories/tasks.ts";
import { expectErrorBody } from "../setup/expectError.ts";
import { pathWith, routes } from "../setup/operations.ts";
import { useService } from "../setup/testService.ts";

const service = useService();
/** Source: docs/contract.md "Errors". */
const MAX_ERROR_BYTES = 16_000;
let person: TestPerson;

beforeAll(async () => {
  person = await createPerson(service, { cents: 1_000_000 });
});

/** Broken text in every list of a nesting: a search that builds the path of each finding builds 22,000² / 2 steps. */
const nested = (depth: number) => `{"a":${'["\\u0000",'.repeat(depth)}1${"]".repeat(depth)}}`;
const object = (fields: [name: string, value: string][]) =>
  `{${fields.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(",")}}`;
const many = (count: number, nameOf: (index: number) => string, value = "1") =>
  object(Array.from({ length: count }, (_, index) => [nameOf(index), value]));

/** Names that take six bytes a character in an answer, and others that take three. */
const control = (index: number) => `${"\u0001".repeat(150)}${index}`;
const wide = (index: number) => `${"\u4e00".repeat(80)}${index}`;

/** As JSON texts: within the bounds, where each value has an issue of its own, and beyond them. */
const within = {
  "unknown fields": many(900, (index) => `f${index}`),
  "unknown fields with long names": many(250, control),
  "unknown fields with wide names": many(700, wide),
  "broken text everywhere": many(900, (index) => `g${index}`, '"\\u0000"'),
  "broken text below a long name": `{${JSON.stringify("n".repeat(200_000))}:[${Array(900).fill('"\\u0000"')}]}`,
  "every field a list of a wrong type": many(1, () => "tags", `[${Array(900).fill("{}")}]`),
};
const beyond = {
  "broken text, 22,000 deep": nested(22_000),
  "lists, 120,000 deep": `{"a":${"[".repeat(120_000)}${"]".repeat(120_000)}}`,
  "broken text, 20,000 values": many(1, () => "a", `[${Array(20_000).fill('"\\u0000"')}]`),
  "20,000 unknown fields": many(20_000, (index) => `f${index}`),
  "a key given 40,000 times": many(40_000, () => "a"),
};
const inputs = { ...within, ...beyond };

interface Sent {
  status: number;
  text: string;
}

async function send(path: string, init: RequestInit = {}): Promise<Sent> {
  const response = await fetch(service.url + path, {
    ...init,
    headers: { ...person.session, "content-type": "application/json", ...init.headers },
  });
  return { status: response.status, text: await response.text() };
}

const post = (path: string, body: string) => send(path, { method: "POST", body });

function expectSmallRefusal({ status, text }: Sent): void {
  expect(Buffer.byteLength(text)).toBeLessThan(MAX_ERROR_BYTES);
  expect([400, 403, 404]).toContain(status);
}

const takesBody = (route: Route) => route.method === "POST" || route.method === "PATCH";

test.each(routes.map((route) => [route.procedurePath, route] as const))(
  "whatever the input, the error of %s is small, over REST and RPC",
  async (_name, route) => {
    const id = crypto.randomUUID();
    for (const text of Object.values(inputs)) {
      if (takesBody(route)) {
        expectSmallRefusal(await send(pathWith(route, id), { method: route.method, body: text }));
      }
      if (route.type === "mutation") expectSmallRefusal(await post(`/trpc/${route.procedurePath}`, text));
    }
    // A target holds less than a body.
    const short = [nested(400), many(800, (index) => `${index}`), many(9, control), many(300, () => "a", "[]")];
    for (const text of route.type === "query" ? short : []) {
      expectSmallRefusal(await send(`/trpc/${route.procedurePath}?input=${encodeURIComponent(text)}`));
    }
    const queries = [
      Array(1_500).fill("%01=1").join("&"),
      Array.from({ length: 99 }, (_, index) => `${"%01".repeat(30)}${index}=1`).join("&"),
      Array.from({ length: 99 }, (_, index) => `${"%01".repeat(30)}${index % 40}=1`).join("&"),
      Array.from({ length: 90 }, (_, index) => `${"%E4%B8%80".repeat(12)}${index}=%ff`).join("&"),
      Array.from({ length: 2_000 }, (_, index) => `f${index}=`).join("&"),
    ];
    for (const query of queries) {
      expectSmallRefusal(await send(`${pathWith(route, id)}?${query}`, { method: route.method }));
    }
  },
);

describe("a batch of 20 over RPC", () => {
  const batchOf = (path: string) => `/trpc/${Array(20).fill(path).join(",")}?batch=1`;

  test.each(Object.entries(inputs))("answers in all no more than one call: %s", async (_name, text) => {
    const share = text.length * 20 < 250_000 ? 20 : 1;
    const body = object(Array.from({ length: share }, (_, index) => [String(index), text]));
    expectSmallRefusal(await post(batchOf("tasks.create"), body));
  });

  test("each call that failed has at least one issue, even with the longest request id", async () => {
    const call = object([
      [control(0), "1"],
      ["title", "5"],
      ["tags", `[${Array(40).fill("{}")}]`],
    ]);
    const body = object(Array.from({ length: 20 }, (_, index) => [String(index), call]));
    const headers = { "x-request-id": "r".repeat(128) };
    const answer = await send(batchOf("tasks.create"), { method: "POST", body, headers });
    expectSmallRefusal(answer);
    const calls = JSON.parse(answer.text) as { error: { data: { issues: unknown[] } } }[];
    expect(calls.map(({ error }) => error.data.issues.length > 0)).toEqual(Array(20).fill(true));
  });
});

test("47 bytes of Brotli, which inflate to broken text 22,000 deep, are refused before they are parsed", async () => {
  const body = brotliCompressSync(nested(22_000));
  expect(body.length).toBeLessThan(200);
  for (const path of ["/auth/login", "/trpc/auth.login"]) {
    const answer = await send(path, { method: "POST", body, headers: { "content-encoding": "br" } });
    expect([answer.status, answer.text.length < 1_000]).toEqual([413, true]);
  }
});

test("requests beside the most expensive inputs are answered", async () => {
  const attacks = Object.values(inputs).map((text) => post("/auth/login", text));
  const beside = Array.from({ length: 6 }, () => send("/wallet"));
  expect((await Promise.all(beside)).map(({ status }) => status)).toEqual(Array(6).fill(200));
  for (const attack of await Promise.all(attacks)) {
    expect(attack.status).toBe(400);
    expectErrorBody(JSON.parse(attack.text), "invalid_input");
  }
});

test("16 levels and 1,000 values are looked at, and one more is refused, the same over both transports", async () => {
  const deep = (levels: number) => `{"a":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`;
  const wideList = (values: number) => `{"a":[${Array(values - 2).fill("[]")}]}`;
  const unknown = [{ path: "a", message: "Unknown field. Allowed here: email, password, code." }];
  const tooDeep = [{ path: "", message: "The input is nested more than 16 levels deep." }];
  const tooMany = [{ path: "", message: "The input has more than 1,000 values." }];
  for (const [text, issues] of [
    [deep(16), unknown],
    [deep(17), tooDeep],
    [wideList(1_000), unknown],
    [wideList(1_001), tooMany],
  ] as const) {
    const seen = ({ text: answer }: Sent) => {
      const body = JSON.parse(answer);
      const last = Array.isArray(body) ? body.at(-1) : body;
      const found: { path: string }[] = (last.error.data ?? last).issues;
      return found.filter(({ path }) => path === "" || path === "a");
    };
    expect(seen(await post("/auth/login", text))).toEqual(issues);
    expect(seen(await post("/trpc/auth.login", text))).toEqual(issues);
    expect(seen(await post("/trpc/keys.create,auth.login?batch=1", `{"0":{},"1":${text}}`))).toEqual(issues);
  }
});

test("the largest valid task is accepted, uncompressed and compressed", async () => {
  const widest = taskInput({
    title: "💸".repeat(100),
    description: "💸".repeat(20_000),
    acceptanceCriteria: "💸".repeat(10_000),
    tags: Array.from({ length: 20 }, (_, index) => `${"💸".repeat(35)}${index}`),
  });
  const body = JSON.stringify(widest);
  expect(Buffer.byteLength(body)).toBeGreaterThan(120_000);
  expect((await send("/tasks", { method: "POST", body })).status).toBe(201);
  const compressions = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync };
  for (const [encoding, compress] of Object.entries(compressions)) {
    const headers = { "content-encoding": encoding };
    expect((await send("/tasks", { method: "POST", body: compress(body), headers })).status).toBe(201);
    expect((await send("/trpc/tasks.create", { method: "POST", body: compress(body), headers })).status).toBe(200);
  }
});

test.each([
  ["gzip", gzipSync],
  ["deflate", deflateSync],
  ["br", brotliCompressSync],
] as const)(
  "a body that inflates to more than 128 KiB and 100 times its size is 413: %s",
  async (encoding, compress) => {
    const headers = { "content-encoding": encoding };
    const padded = (bytes: number) => compress(`{}${" ".repeat(bytes - 2)}`);
    for (const path of ["/auth/login", "/trpc/auth.login"]) {
      const allowed = await send(path, { method: "POST", body: padded(128 * 1024), headers });
      expect(allowed.status).toBe(400);
      const refused = await send(path, { method: "POST", body: padded(128 * 1024 + 1), headers });
      expect([refused.status, refused.text.length < 1_000]).toEqual([413, true]);
      const unsized = new ReadableStream({
        start(controller) {
          controller.enqueue(padded(200_000));
          controller.close();
        },
      });
      const chunked = await send(path, { method: "POST", body: unsized, headers, duplex: "half" } as RequestInit); // fetch's types lack `duplex`
      expect(chunked.status).toBe(413);
    }
    // Text that repeats less.
    const words = Array.from({ length: 30_000 }, (_, index) => (index * 7_919) % 1_000).join(" ");
    const honest = JSON.stringify({ email: words.slice(0, 150_000), password: "x" });
    const answer = await send("/auth/login", { method: "POST", body: compress(honest), headers });
    expect(answer.status).not.toBe(413);
  },
);
