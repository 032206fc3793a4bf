import { parentPort, workerData } from "node:worker_threads";
import { drawPaper } from "./draw.ts";

// The thread that makePdf.ts starts: draws one paper.
parentPort?.postMessage(await drawPaper(workerData));
