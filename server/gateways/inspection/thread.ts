import { parentPort } from "node:worker_threads";
import { inspectFile } from "./inspectFile.ts";
import type { FileParts } from "./partialFile.ts";

// The thread that inspector.ts starts: says when it is ready, and answers each file with what it says about itself.
parentPort?.on("message", async (parts: FileParts) => {
  parentPort?.postMessage(await inspectFile(parts));
});
parentPort?.postMessage("ready");
