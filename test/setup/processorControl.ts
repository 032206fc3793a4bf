import type { TestService } from "./testService.ts";

/** A call of the embedded processor's `/test` API: what a bank, a card's owner or a bad network does. */
export async function control<Result = unknown>(
  { processorUrl }: Pick<TestService, "processorUrl">,
  method: "GET" | "POST" | "DELETE",
  path: string,
  body?: unknown,
): Promise<Result> {
  const response = await fetch(`${processorUrl}/test/${path}`, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as Result; // the test says what it asked for
}

/** Polls until `read` gives something that `accept` takes, and gives that; fails with the last one after the deadline. */
export async function eventually<Value>(
  read: () => Promise<Value>,
  accept: (value: Value) => boolean,
  timeoutMs = 20_000,
): Promise<Value> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const value = await read();
    if (accept(value)) return value;
    if (Date.now() > deadline) throw new Error(`still not so after ${timeoutMs} ms: ${JSON.stringify(value)}`);
    await new Promise((resume) => setTimeout(resume, 30));
  }
}
