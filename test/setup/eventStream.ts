import { onTestFinished } from "vitest";
import type { Credentials } from "./client.ts";

export interface StreamMessage {
  id: string | undefined;
  comment: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever came, and asserts what it is
  data: any;
}

/**
 * Opens a stream of server-sent events as a client on `fetch` would; it is closed with the test. `next` returns null when the
 * stream has ended.
 */
export async function openStream(url: string, path: string, headers: Credentials = {}) {
  const abort = new AbortController();
  onTestFinished(() => abort.abort());
  const response = await fetch(url + path, { headers, signal: abort.signal });
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  const next = async (): Promise<StreamMessage | null> => {
    while (!text.includes("\n\n")) {
      const chunk = await reader?.read();
      if (chunk === undefined || chunk.done) return null;
      text += decoder.decode(chunk.value, { stream: true });
    }
    const end = text.indexOf("\n\n");
    const lines = text.slice(0, end).split("\n");
    text = text.slice(end + 2);
    const field = (name: string) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
    const data = field("data");
    return { id: field("id"), comment: field(""), data: data === undefined ? undefined : JSON.parse(data) };
  };
  return {
    status: response.status,
    headers: response.headers,
    next,
    /** The next message that has an event. */
    async nextEvent() {
      for (let message = await next(); message !== null; message = await next()) {
        if (message.data !== undefined) return { id: message.id ?? "", event: message.data };
      }
      throw new Error("the stream has ended");
    },
    close: () => abort.abort(),
  };
}
