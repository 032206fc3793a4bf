import { parentPort } from "node:worker_threads";
import type { JudgeTask } from "./judge.ts";
import { faultOfCheck, judgeContent } from "./judgeContent.ts";

// The thread that judge.ts starts: says when it is ready, and answers each task.
parentPort?.on("message", async ({ check, file }: JudgeTask) => {
  parentPort?.postMessage(file === null ? faultOfCheck(check) : await judgeContent(check, file));
});
parentPort?.postMessage("ready");
