/** One message of a stream of server-sent events (WHATWG HTML, 9.2), as far as the service uses them. */
export interface StreamMessage {
  /** Empty for a message that only moves the cursor. */
  data: string;
  id: string | undefined;
}

/** Parses a stream of server-sent events. Ends with the stream; an unfinished message at its end is dropped. */
export async function* readMessages(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<StreamMessage, void, undefined> {
  const decoder = new TextDecoder();
  let text = "";
  let message: { data: string[]; id: string | undefined } = { data: [], id: undefined };
  for await (const chunk of chunks) {
    text += decoder.decode(chunk, { stream: true });
    const lines = text.split(/\r?\n/);
    text = lines.pop() ?? "";
    for (const line of lines) {
      if (line === "") {
        const { data, id } = message;
        message = { data: [], id: undefined };
        if (data.length > 0 || id !== undefined) yield { data: data.join("\n"), id };
        continue;
      }
      const [, field, value = ""] = /^(data|id):? ?(.*)$/.exec(line) ?? [];
      if (field === "data") message.data.push(value);
      if (field === "id") message.id = value;
    }
  }
}

/** The chunks of a body. Older browsers cannot iterate over a stream themselves. */
export async function* chunksOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    // After a failure there is nothing left to cancel.
    await reader.cancel().catch(() => {});
  }
}
