import { PassThrough, type Readable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Transport } from "@modelcontextprotocol/client";

type Message = Parameters<Transport["send"]>[0];

interface BridgeOptions {
  /** The desktop client. */
  local: Transport;
  /** The service. */
  remote: Transport;
  open: OpenRequests;
  /** Returns what the person at the desktop should read about a failed request. */
  explain(error: unknown): string;
}

/** JSON-RPC: an error of the server that has no code of its own. */
const SERVER_ERROR = -32_000;
/** Longer than any tool takes: `wait_for_events` waits for 30 seconds. */
const LAST_ANSWERS_MS = 60_000;

/** The requests of the desktop client that have no answer yet. */
export class OpenRequests {
  readonly #ids = new Set<string | number>();
  #tell: (() => void) | undefined;

  add(id: string | number): void {
    this.#ids.add(id);
  }

  /** To be called when the answer has been written, or when there will be none. */
  end(id: string | number | undefined): void {
    if (id !== undefined) this.#ids.delete(id);
    if (this.#ids.size === 0) this.#tell?.();
  }

  /** Resolves when all have their answer, or none can be expected any more. */
  async allAnswered(): Promise<void> {
    if (this.#ids.size === 0) return;
    await new Promise<void>((resolve) => {
      this.#tell = resolve;
      setTimeout(resolve, LAST_ANSWERS_MS).unref();
    });
  }

  /**
   * Returns an input that ends when the given one has ended and all requests in it are answered: the package's transport
   * writes nothing after the end of its input, and what is piped into us ends before its answers are there.
   */
  holdOpen(input: Readable): Readable {
    return input.pipe(
      new PassThrough({
        flush: (end) => {
          // First, what arrived last is read.
          void nextTurn()
            .then(() => this.allAnswered())
            .then(() => end());
        },
      }),
    );
  }
}

/**
 * Passes every message on as it is, in both directions, until the desktop client leaves: so whatever the service can do, and
 * in whichever version of the protocol, needs nothing here. A request that gets no answer is answered with what went wrong.
 */
export async function bridge({ local, remote, open, explain }: BridgeOptions): Promise<void> {
  const left = new Promise<void>((resolve) => {
    local.onclose = resolve;
  });
  const answer = async (message: Message) => {
    await local.send(message).catch(() => undefined); // the client has left
    if ("id" in message && !("method" in message)) open.end(message.id);
  };

  local.onmessage = (message) => {
    if ("id" in message && "method" in message) open.add(message.id);
    // A request that is cancelled gets no answer.
    if ("method" in message && message.method === "notifications/cancelled") open.end(cancelledIdOf(message.params));
    remote.send(message).catch((error: unknown) => {
      if (!("id" in message) || !("method" in message)) return;
      void answer({ jsonrpc: "2.0", id: message.id, error: { code: SERVER_ERROR, message: explain(error) } });
    });
  };
  remote.onmessage = (message) => void answer(message);
  await remote.start();
  await local.start();
  await left;
  await remote.close();
}

function cancelledIdOf(params: object | undefined): string | number | undefined {
  const id: unknown = params && "requestId" in params ? params.requestId : undefined;
  return typeof id === "string" || typeof id === "number" ? id : undefined;
}
