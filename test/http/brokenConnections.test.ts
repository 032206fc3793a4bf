import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import getPort from "get-port";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connectionLimits, type HttpServer, serve } from "../../server/http/server.ts";
import { eventually } from "../setup/processorControl.ts";
import { rawRequest } from "../setup/rawRequest.ts";

let server: HttpServer;
let port: number;
/** Answers the request for `/slow`. */
let release: () => void = () => {};
/** Requests for `/wait`. */
let handled = 0;

beforeAll(async () => {
  port = await getPort();
  const limits = {
    ...connectionLimits,
    headersTimeoutMs: 100,
    requestTimeoutMs: 400,
    checkIntervalMs: 20,
    farewellMs: 50,
    maxConnections: 20,
  };
  server = await serve(
    (request, response) => {
      const answer = (text: string) => response.setHeader("Content-Length", text.length).end(text);
      if (request.url === "/slow") release = () => answer('"slow"');
      else if (request.url === "/early") answer('"early"');
      else if (request.url === "/wait") {
        handled += 1;
        setImmediate(answer, '"waited"');
      } else request.resume().on("end", () => answer('"done"'));
    },
    port,
    "127.0.0.1",
    { limits },
  );
});

afterAll(() => server.stop());

/** Opens a connection that stays half open, whatever the server does, and keeps what it receives. */
async function open(bytes: string): Promise<{ socket: Socket; received: () => string; isClosed: () => boolean }> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  let received = "";
  let isClosed = false;
  socket.on("data", (chunk) => {
    received += chunk;
  });
  socket.on("error", () => {});
  socket.on("close", () => {
    isClosed = true;
  });
  await new Promise((resolve) => socket.once("connect", resolve));
  if (bytes !== "") socket.write(bytes);
  return { socket, received: () => received, isClosed: () => isClosed };
}

const body = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n";

test.each([
  ["nothing", ""],
  ["half of the headers", "GET / HTTP/1.1\r\nHost:"],
  ["half of a body", `${body}12345`],
])("a connection that sends %s and stays half open is answered and then destroyed", async (_name, bytes) => {
  const { socket, received, isClosed } = await open(bytes);
  await eventually(
    async () => received(),
    (text) => text.includes("took too long"),
  );
  expect(received()).toMatch(/^HTTP\/1\.1 400 /);
  // Only a destroyed connection refuses what the client still sends.
  await eventually(
    async () => {
      socket.write("x");
      return isClosed();
    },
    (closed) => closed,
  );
});

const slow = "GET /slow HTTP/1.1\r\nHost: x\r\n\r\n";

test.each([
  ["a broken request", "nonsense\r\n\r\n", "not a valid HTTP request"],
  ["a request that never ends", "GET / HTTP/1.1\r\nHost:", "took too long"],
  ["a body that never ends", body, "took too long"],
])("the refusal of %s waits for the answer to the request before it", async (_name, bytes, message) => {
  const { received } = await open(slow + bytes);
  // Longer than every timeout above.
  await sleep(600);
  expect(received()).toBe("");
  release();
  await eventually(
    async () => received(),
    (text) => text.includes(message),
  );
  expect(received().match(/HTTP\/1\.1 \d+|"slow"/g)).toEqual(["HTTP/1.1 200", '"slow"', "HTTP/1.1 400"]);
});

test("a request that was answered before its body broke is not answered twice", async () => {
  const chunked = "POST /early HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  const { socket, received, isClosed } = await open(chunked);
  await eventually(
    async () => received(),
    (text) => text.endsWith('"early"'),
  );
  socket.write("zz\r\n");
  await eventually(
    async () => {
      socket.write("x");
      return isClosed();
    },
    (closed) => closed,
  );
  expect(received().match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200"]);
});

test("of 5,000 requests sent at once over one connection, 50 are handled and answered, and then it is closed", async () => {
  handled = 0;
  const { socket, received, isClosed } = await open("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n".repeat(5_000));
  await eventually(
    async () => received(),
    (text) => text.includes("Too many requests on this connection"),
  );
  expect(received().match(/HTTP\/1\.1 \d+/g)).toEqual([...Array(50).fill("HTTP/1.1 200"), "HTTP/1.1 400"]);
  expect(handled).toBe(50);
  await eventually(
    async () => {
      socket.write("x");
      return isClosed();
    },
    (closed) => closed,
  );
});

test("a slow body that arrives in time is read", async () => {
  const { socket, received } = await open(body);
  for (const byte of "1234567890") {
    socket.write(byte);
    await sleep(10);
  }
  await eventually(
    async () => received(),
    (text) => text.endsWith('"done"'),
  );
  socket.destroy();
});

test("connections beyond the maximum are closed, and there is room again when others end", async () => {
  const sockets = await Promise.all(Array.from({ length: 30 }, () => open("GET /x HTTP/1.1\r\nHost: x\r\n\r\n")));
  await eventually(
    async () => sockets.filter(({ received, isClosed }) => received() !== "" || isClosed()).length,
    (settled) => settled === 30,
  );
  const answered = sockets.filter(({ received }) => received().includes("200 OK")).length;
  expect(answered).toBeGreaterThan(0);
  expect(answered).toBeLessThanOrEqual(20);
  for (const { socket } of sockets) socket.destroy();
  const again = async () => (await rawRequest(`http://127.0.0.1:${port}`, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"))[0];
  const answer = await eventually(
    () => again().catch(() => undefined),
    (found) => found !== undefined,
  );
  expect(answer?.status).toBe(200);
});
