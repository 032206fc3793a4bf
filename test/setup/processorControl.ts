import type { TestService } from "./testService.ts";

/** Calls the embedded processor's `/test` API, which plays the bank, the cardholder or a bad network. */
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
  return (await response.json()) as Result; // the caller names the type
}

/**
 * Polls until `accept` is true of what `read` returns, and returns it. Throws after a minute, with the last value.
 */
export async function eventually<Value>(read: () => Promise<Value>, accept: (value: Value) => boolean): Promise<Value> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    const value = await read();
    if (accept(value)) return value;
    if (Date.now() > deadline) throw new Error(`condition not met within a minute: ${JSON.stringify(value)}`);
    await new Promise((resume) => setTimeout(resume, 30));
  }
}
