/** What the main job does outside the API: pages of the payment processor, bytes for the object store, waiting. */

/** The address of the service, from the command line. */
export const baseUrl = process.argv[2] ?? "";

/** Submits a form of the embedded payment processor, as a person in a browser would. */
export async function submit(url: string, outcome: string): Promise<void> {
  const response = await fetch(url, { method: "POST", body: new URLSearchParams({ outcome }), redirect: "manual" });
  if (response.status >= 400) throw new Error(`${url}: ${response.status}`);
}

/** Sends a file's bytes to the address that the start of an upload returned. */
export async function put(url: string, text: string, mimeType: string): Promise<void> {
  const response = await fetch(url, { method: "PUT", body: text, headers: { "content-type": mimeType } });
  if (!response.ok) throw new Error(`PUT ${url}: ${response.status} ${await response.text()}`);
}

/** Asks until there is an answer, for at most 30 seconds. */
export async function until<Result>(what: string, ask: () => Promise<Result | undefined>): Promise<Result> {
  for (const deadline = Date.now() + 30_000; Date.now() < deadline; ) {
    const result = await ask();
    if (result !== undefined) return result;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`not within 30 seconds: ${what}`);
}

export function assertEqual(actual: unknown, expected: unknown): void {
  if (JSON.stringify(actual) !== JSON.stringify(expected)) {
    throw new Error(`${JSON.stringify(actual)} is not ${JSON.stringify(expected)}`);
  }
}

/** The session that a response has set, as a header of the next requests. */
export function cookieOf(response: Response): { cookie: string } {
  return { cookie: response.headers.getSetCookie()[0]?.split(";")[0] ?? "" };
}

export const text = "# Lounas\n\nLohikeitto\n";
export const mimeType = "text/markdown";
/** Makes the accounts of each run its own. */
export const run = `${Date.now()}-${Math.random().toString(36).slice(2)}`;
