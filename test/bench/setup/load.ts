import { connect } from "node:net";
import type { Load, LoadResult } from "./processes.ts";

/**
 * A load generator in its own process, over bare sockets: a full HTTP client would cost as much as the handler that is
 * measured, on a machine where both share the cores.
 */
async function run(load: Load): Promise<LoadResult> {
  const endMs = performance.now() + load.seconds * 1000;
  const durations: number[] = [];
  const statuses: Record<string, number> = {};
  const began = performance.now();
  await Promise.all(
    load.headers.map((headers) =>
      send(load, headers, (status, durationMs) => {
        statuses[status] = (statuses[status] ?? 0) + 1;
        durations.push(durationMs);
        return performance.now() < endMs;
      }),
    ),
  );
  const seconds = (performance.now() - began) / 1000;
  durations.sort((a, b) => a - b);
  return {
    requestsPerSecond: durations.length / seconds,
    medianMs: durations[Math.floor(durations.length * 0.5)] ?? 0,
    p99Ms: durations[Math.floor(durations.length * 0.99)] ?? 0,
    statuses,
  };
}

/** One request after the other on one connection until `onAnswer` returns false. */
function send(
  { method, path, body = "", port, uniqueHeader }: Load,
  headers: Record<string, string>,
  onAnswer: (status: string, durationMs: number) => boolean,
): Promise<void> {
  const lines = Object.entries({ Host: `127.0.0.1:${port}`, "Content-Length": Buffer.byteLength(body), ...headers });
  const head = `${method} ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}`;
  const requestWith = (line: string) => Buffer.from(`${head}${line}\r\n${body}`);
  const same = requestWith("");
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    socket.setNoDelay(true);
    let received = Buffer.alloc(0);
    let missing = -1;
    let sentAt = 0;
    let status = "";
    const next = () => {
      received = Buffer.alloc(0);
      missing = -1;
      sentAt = performance.now();
      socket.write(uniqueHeader === undefined ? same : requestWith(`${uniqueHeader}: ${crypto.randomUUID()}\r\n`));
    };
    socket.once("connect", next);
    socket.once("error", reject);
    socket.once("close", () => reject(new Error("the server closed the connection")));
    socket.on("data", (chunk) => {
      if (missing < 0) {
        received = Buffer.concat([received, chunk]);
        const headEnd = received.indexOf("\r\n\r\n");
        if (headEnd < 0) return;
        const head = received.toString("latin1", 0, headEnd);
        status = head.slice(9, 12);
        const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
        if (length === undefined) return socket.destroy(new Error(`no Content-Length:\n${head}`));
        missing = headEnd + 4 + Number(length) - received.length;
      } else {
        missing -= chunk.length;
      }
      if (missing > 0) return;
      if (onAnswer(status, performance.now() - sentAt)) return next();
      socket.removeAllListeners("close");
      socket.end();
      resolve();
    });
  });
}

process.on("message", (load: Load) => {
  run(load).then(
    (result) => process.send?.(result),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
console.log("ready");
