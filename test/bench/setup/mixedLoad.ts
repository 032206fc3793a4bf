import { answerOrders } from "./answerOrders.ts";
import { encode, RawConnection } from "./rawConnection.ts";

/** Requests of different kinds, sent in turn. Either `rate` or `connections` says how fast. */
export interface MixedLoad {
  port: number;
  requests: { method: "GET" | "POST"; path: string; headers: Record<string, string>; body?: string }[];
  seconds: number;
  /** Requests a second, sent whether or not earlier ones have been answered. */
  rate?: number;
  /** Requests under way at any time: the next is sent when one is answered. */
  connections?: number;
}

export interface MixedLoadResult {
  sent: number;
  /** Requests without a response. */
  lost: number;
  /** The number of responses with each status. */
  statuses: Record<string, number>;
  /** Successful responses a second. */
  successesPerSecond: number;
  /** Of the successful ones, from the moment at which the request was due. */
  medianMs: number;
  p99Ms: number;
}

/** More than the service accepts, so that the client does not limit what it gets to see. */
const MAX_CONNECTIONS = 1_000;
/** A request without a response for this long is lost. */
const TIMEOUT_MS = 60_000;

/** A load generator in its own process, over bare sockets: an HTTP client would cost as much as the service. */
async function run({ port, requests, seconds, rate, connections }: MixedLoad): Promise<MixedLoadResult> {
  const messages = requests.map(encode);
  const idle: RawConnection[] = [];
  let open = 0;
  const waiting: ((connection: RawConnection) => void)[] = [];
  const durations: number[] = [];
  const statuses: Record<string, number> = {};
  let sent = 0;
  let lost = 0;
  const take = async (): Promise<RawConnection> => {
    // In turns, so that none is idle for so long that the service closes it.
    for (let free = idle.shift(); free !== undefined; free = idle.shift()) {
      if (free.isOpen) return free;
      open--; // Closed while it was idle.
    }
    if (open >= MAX_CONNECTIONS) return new Promise((resolve) => waiting.push(resolve));
    open++;
    return new RawConnection(port, TIMEOUT_MS);
  };
  const send = async (dueMs: number) => {
    const message = messages[sent++ % messages.length] ?? Buffer.alloc(0);
    const connection = await take();
    try {
      const { status } = await connection.ask(message);
      statuses[status] = (statuses[status] ?? 0) + 1;
      if (status.startsWith("2")) durations.push(performance.now() - dueMs);
      const next = waiting.shift();
      if (next === undefined) idle.push(connection);
      else next(connection);
    } catch {
      lost++;
      open--;
      const next = waiting.shift();
      if (next === undefined) return;
      open++;
      next(new RawConnection(port, TIMEOUT_MS));
    }
  };
  if (rate !== undefined) {
    // They are open before the load begins, because a process accepts one connection per turn of its event loop.
    const opened = Array.from({ length: MAX_CONNECTIONS }, () => new RawConnection(port, TIMEOUT_MS));
    await Promise.all(opened.map((connection) => connection.opened()));
    open = opened.length;
    idle.push(...opened);
  }
  const beganMs = performance.now();
  const endMs = beganMs + seconds * 1000;
  if (rate === undefined) {
    const oneAfterTheOther = async () => {
      while (performance.now() < endMs) await send(performance.now());
    };
    await Promise.all(Array.from({ length: connections ?? 1 }, oneAfterTheOther));
  } else {
    const underWay: Promise<void>[] = [];
    while (performance.now() < endMs) {
      const due = Math.floor(((performance.now() - beganMs) / 1000) * rate);
      while (sent < due) underWay.push(send(beganMs + (sent / rate) * 1000));
      await new Promise((resume) => setTimeout(resume, 2));
    }
    await Promise.all(underWay);
  }
  const elapsedSeconds = (performance.now() - beganMs) / 1000;
  for (const connection of idle) connection.close();
  durations.sort((a, b) => a - b);
  return {
    ...{ sent, lost, statuses },
    successesPerSecond: durations.length / elapsedSeconds,
    medianMs: durations[Math.floor(durations.length * 0.5)] ?? 0,
    p99Ms: durations[Math.floor(durations.length * 0.99)] ?? 0,
  };
}

answerOrders(run);
