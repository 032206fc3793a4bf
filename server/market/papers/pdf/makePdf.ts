import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { Paper } from "./paper.ts";

/**
 * Draws a paper as a PDF, in a thread of its own: the library and the fonts take half a second of CPU time, for which requests
 * would wait, and 60 MB that are free again afterwards.
 */
export async function makePdf(paper: Paper): Promise<Uint8Array> {
  const thread = new Worker(new URL("./thread.ts", import.meta.url), { workerData: paper });
  try {
    const [content] = await once(thread, "message"); // throws what the thread throws
    return content;
  } finally {
    await thread.terminate();
  }
}
