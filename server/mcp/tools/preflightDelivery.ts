import { z } from "zod";
import { CheckResult } from "../../schemas/checkResult.ts";
import { plainTool } from "../tool.ts";
import { sayVerdicts } from "./checks.ts";
import { awardedBid } from "./deliver.ts";
import { fileInput, sendFile, uploadOutput } from "./sendFile.ts";

/** A try of the delivery: declare, upload, and judge. */
export const preflightDelivery = plainTool({
  name: "preflight_delivery",
  title: "Try the checks",
  description:
    "Judges a file by the task's checks exactly as its delivery would be, without delivering it. Takes a file as deliver does; then " +
    "deliver its storageKey.",
  procedures: ["bids.deliveryInit", "bids.deliveryPreflight"],
  kind: "change",
  input: z.strictObject({ bidId: awardedBid, ...fileInput }),
  output: z.object({ checks: z.array(CheckResult).optional(), ...uploadOutput }),
  run: (job, { bidId: id, ...file }) =>
    sendFile(job, file, {
      tool: "preflight_delivery",
      operation: "bids.deliveryInit",
      declare: (api, declared) => api.bids.deliveryInit({ id, ...declared }),
      async finish(storageKey) {
        const { checks } = await job.api.bids.deliveryPreflight({ id, storageKey });
        const hasFailed = checks.some(({ conclusion }) => conclusion === "failed" || conclusion === "error");
        sayVerdicts(job.text, checks);
        job.text.say(checks.length === 0 ? "The task has no checks." : "Nothing was delivered.");
        job.text.next(
          hasFailed ? "change the file, and try again." : `deliver with bidId and storageKey: ${storageKey}`,
        );
        return { checks, storageKey };
      },
    }),
});
