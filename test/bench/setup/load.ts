import { answerOrders } from "./answerOrders.ts";
import type { Load, LoadResult } from "./processes.ts";
import { encode, type Message, RawConnection } from "./rawConnection.ts";
import { openTaskAt, taskIdOf, timeOf } from "./seed/identities.ts";

const PAGE = 50;

/** The request with this number: placeholders become what belongs to the number. */
function requestOf(
  { method, path, body, uniqueHeader }: Load,
  headers: Record<string, string>,
  number: number,
): Message {
  const replaced = (text: string) =>
    text
      .replace("__task__", () => taskIdOf(openTaskAt(number)))
      .replace("__page__", () => timeOf(openTaskAt(number * PAGE)))
      .replace("__entries__", () => timeOf(number * PAGE + 1));
  return {
    ...{ method, path: replaced(path) },
    headers: { ...headers, ...(uniqueHeader !== undefined && { [uniqueHeader]: crypto.randomUUID() }) },
    ...(body !== undefined && { body: replaced(body) }),
  };
}

/** Every connection sends one request after the other; together they count up from `first`. */
async function run(load: Load): Promise<LoadResult> {
  const { first = 0, modulo = Number.MAX_SAFE_INTEGER } = load;
  const connections = load.headers.map((headers) => ({ headers, connection: new RawConnection(load.port) }));
  await Promise.all(connections.map(({ connection }) => connection.opened()));
  const beganMs = performance.now();
  const endMs = beganMs + load.seconds * 1000;
  const durations: number[] = [];
  const statuses: Record<string, number> = {};
  let sent = 0;
  let bodyBytes = 0;
  let refusal: string | undefined;
  await Promise.all(
    connections.map(async ({ headers, connection }) => {
      while (performance.now() < endMs) {
        const message = encode(requestOf(load, headers, (first + sent++) % modulo));
        const sentMs = performance.now();
        const { status, body } = await connection.ask(message);
        durations.push(performance.now() - sentMs);
        statuses[status] = (statuses[status] ?? 0) + 1;
        bodyBytes += body.length;
        if (!status.startsWith("2")) refusal ??= body.toString();
      }
      connection.close();
    }),
  );
  const seconds = (performance.now() - beganMs) / 1000;
  durations.sort((a, b) => a - b);
  return {
    requestsPerSecond: durations.length / seconds,
    medianMs: durations[Math.floor(durations.length * 0.5)] ?? 0,
    p99Ms: durations[Math.floor(durations.length * 0.99)] ?? 0,
    ...{ sent, statuses, bytesPerBody: bodyBytes / sent },
    ...(refusal !== undefined && { refusal }),
  };
}

answerOrders(run);
