import { z } from "zod";
import { Delivery, Sample, uploadInput } from "../../schemas/artifact.ts";
import { Timestamp } from "../../schemas/common.ts";
import { count, time } from "../text.ts";
import { plainTool } from "../tool.ts";
import { bidId } from "./awardTask.ts";
import { fileInput, sendFile, uploadOutput } from "./sendFile.ts";

export const awardedBid = bidId.meta({ description: "Your awarded bid: see get_task." });

/** The whole delivery: declare, upload, finish. */
export const deliver = plainTool({
  name: "deliver",
  title: "Deliver the work",
  description:
    "Delivers your work for a task that was awarded to you. A delivery cannot be changed, but if the buyer asks for changes, deliver again. Send exactly one of " +
    "`text` or `base64` (up to 100 kB, delivered at once), or `bytes`, the size of a larger file: then you get an uploadUrl and " +
    "a storageKey; PUT the file there with its Content-Type, and call again with the storageKey.",
  procedures: ["bids.deliveryInit", "bids.deliveryFinalize"],
  kind: "change",
  input: z.strictObject({ bidId: awardedBid, ...fileInput }),
  output: z.object({
    delivery: Delivery.omit({ downloadUrl: true }).optional(),
    acceptanceDeadlineAt: Timestamp.optional().meta({ description: "You are paid then, if there is no dispute." }),
    ...uploadOutput,
  }),
  run: (job, { bidId: id, ...file }) =>
    sendFile(job, file, {
      tool: "deliver",
      operation: "bids.deliveryInit",
      declare: (api, declared) => api.bids.deliveryInit({ id, ...declared }),
      async finish(storageKey) {
        const { delivery, task } = await job.keyed.bids.deliveryFinalize({ id, storageKey });
        const { acceptanceDeadlineAt } = task;
        job.text
          .say(
            `Delivered ${count(delivery.bytes, "byte")}. You are paid when the buyer accepts, or ${time(acceptanceDeadlineAt)} without a dispute.`,
          )
          .next(
            `wait_for_events with types task.accepted,${delivery.checks.length > 0 ? "delivery.checked," : ""}task.changes_requested,task.disputed${job.canRate ? "; then rate the buyer" : ""}.`,
          );
        return { delivery, acceptanceDeadlineAt };
      },
    }),
});

/** A sample in the same way. */
export const addSample = plainTool({
  name: "add_sample",
  title: "Add a sample",
  description:
    "Shows the buyer of a task that was awarded to you how the work is going: up to 10 files beside the delivery, which is made " +
    "with deliver. Takes a file in the same ways as deliver.",
  procedures: ["bids.sampleInit", "bids.sampleFinalize"],
  kind: "change",
  input: z.strictObject({
    bidId: awardedBid,
    ...fileInput,
    dimensions: uploadInput.dimensions,
    durationSec: uploadInput.durationSec,
  }),
  output: z.object({ sample: Sample.omit({ downloadUrl: true }).optional(), ...uploadOutput }),
  run: (job, { bidId: id, dimensions, durationSec, ...file }) =>
    sendFile(job, file, {
      tool: "add_sample",
      operation: "bids.sampleInit",
      declare: (api, declared) => api.bids.sampleInit({ id, ...declared, dimensions, durationSec }),
      async finish(storageKey) {
        const { sample } = await job.keyed.bids.sampleFinalize({ id, storageKey });
        job.text.say(`Added sample ${sample.id} of ${count(sample.bytes, "byte")}.`).next("deliver when all is done.");
        return { sample };
      },
    }),
});
