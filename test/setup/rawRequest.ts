import { connect } from "node:net";
import type { Answer } from "./client.ts";

/**
 * Writes bytes to a socket unchanged, and reads the responses, in order, until `count` have arrived or the other side
 * closes. For requests that no HTTP client would send.
 */
export async function rawRequest(url: string, bytes: string | Buffer, count = 1): Promise<Answer[]> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const answers: Answer[] = [];
  let received = Buffer.alloc(0);
  socket.write(bytes);
  await new Promise<void>((resolve, reject) => {
    socket.setTimeout(60_000, () => reject(new Error(`no answer after ${answers.length}: ${received}`)));
    socket.on("data", (chunk) => {
      received = Buffer.concat([received, chunk]);
      for (let taken = takeAnswer(received); taken !== null; taken = takeAnswer(received)) {
        answers.push(taken.answer);
        received = received.subarray(taken.length);
      }
      if (answers.length >= count) resolve();
    });
    socket.on("close", () => resolve());
    socket.on("error", reject);
  }).finally(() => socket.destroy());
  return answers;
}

/** The first complete response in `received`, or null. Every response of the service has a Content-Length. */
function takeAnswer(received: Buffer): { answer: Answer; length: number } | null {
  const head = received.indexOf("\r\n\r\n");
  if (head < 0) return null;
  const [statusLine = "", ...lines] = received.subarray(0, head).toString().split("\r\n");
  const headers = new Headers(lines.map((line) => line.split(/: */, 2) as [string, string]));
  const length = head + 4 + Number(headers.get("content-length") ?? 0);
  if (received.length < length) return null;
  const text = received.subarray(head + 4, length).toString();
  const isJson = headers.get("content-type")?.startsWith("application/json") && text !== "";
  const status = Number(statusLine.split(" ")[1]);
  return { answer: { status, headers, text, body: isJson ? JSON.parse(text) : undefined }, length };
}
