import { connect, type Socket } from "node:net";
import { connectionLimits } from "../../server/http/server.ts";
import type { Contract } from "./document.ts";
import { type Fault, judgeAnyResponse } from "./judge.ts";
import { BadHttp, takeResponse } from "./wire.ts";

/**
 * A client that has gone silent must have been disconnected after this long: the limits of the service, and the time that a
 * busy machine may need to look. Well below `silenceMs`, which would end the connection anyway.
 */
const { requestTimeoutMs, checkIntervalMs, farewellMs } = connectionLimits;
const MAX_SILENCE_MS = requestTimeoutMs + checkIntervalMs + farewellMs + 10_000;
const EACH = 8;

/** What clients send before they go silent; those that `end` close their half of the connection. */
const beginnings: readonly { name: string; text: string; end: boolean }[] = [
  { name: "nothing", text: "", end: false },
  { name: "nothing, half closed", text: "", end: true },
  { name: "half of the headers", text: "POST /auth/login HTTP/1.1\r\nHost: x\r\nContent-", end: false },
  {
    name: "half of a body",
    text: 'POST /auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 90\r\n\r\n{"a":',
    end: false,
  },
  {
    name: "a chunk without its end",
    text: "POST /auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{",
    end: false,
  },
  { name: "an unfinished second request", text: "GET /livez HTTP/1.1\r\nHost: x\r\n\r\nGET /", end: false },
];

interface Held {
  name: string;
  socket: Socket;
  received: Buffer;
  closed: boolean;
}

/** Connections whose clients fall silent in the middle of a request, and never close what they have opened. */
export class HeldSockets {
  readonly #openedMs = performance.now();
  readonly #held: Held[];

  constructor(port: number) {
    this.#held = beginnings.flatMap(({ name, text, end }) =>
      Array.from({ length: EACH }, () => {
        const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
        const held: Held = { name, socket, received: Buffer.alloc(0), closed: false };
        socket.on("data", (chunk: Buffer) => {
          held.received = Buffer.concat([held.received, chunk]);
        });
        for (const event of ["end", "close", "error"]) socket.on(event, () => (held.closed = true));
        if (end) socket.end(text);
        else if (text !== "") socket.write(text);
        return held;
      }),
    );
  }

  /** What came must be well-formed responses; and once they have been silent for too long, the server must have closed. */
  findFaults(contract: Contract): Fault[] {
    const isLate = performance.now() - this.#openedMs > MAX_SILENCE_MS;
    return this.#held.flatMap(({ name, received, closed }): Fault[] => {
      if (isLate && !closed)
        return [{ what: `held socket, ${name}: still open after ${MAX_SILENCE_MS} ms`, detail: "" }];
      try {
        for (let rest = received; rest.length > 0; ) {
          const taken = takeResponse(rest, { ended: closed });
          if (taken === null) break;
          const fault = judgeAnyResponse(contract, taken.response);
          if (fault !== null) return [{ ...fault, what: `held socket, ${name}: ${fault.what}` }];
          rest = rest.subarray(taken.length);
        }
        return [];
      } catch (error) {
        if (error instanceof BadHttp) return [{ what: `held socket, ${name}: not HTTP`, detail: error.message }];
        throw error;
      }
    });
  }

  close(): void {
    for (const { socket } of this.#held) socket.destroy();
  }
}
