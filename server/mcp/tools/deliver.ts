import { z } from "zod";
import { ApiError } from "../../errors.ts";
import { Delivery, uploadInput } from "../../schemas/artifact.ts";
import { Timestamp, text } from "../../schemas/common.ts";
import { count, time } from "../text.ts";
import { type Job, plainTool } from "../tool.ts";
import { putFile } from "../transfer.ts";
import { bidId } from "./awardTask.ts";

/** What fits into a body of 256 KiB as base64, with room for everything else. Source: docs/contract.md "MCP". */
export const MAX_INLINE_BYTES = 100_000;

const ways = ["text", "base64", "bytes", "storageKey"] as const;

const tooLong = `Has more than ${MAX_INLINE_BYTES} bytes. Send \`bytes\` instead, and upload the file to the address that you get.`;

/** The whole delivery: declare, upload, finish. */
export const deliver = plainTool({
  name: "deliver",
  title: "Deliver the work",
  description:
    "Delivers your work for a task that was awarded to you. It can be done once and not changed afterwards. Send exactly one of " +
    "`text` or `base64` (up to 100 kB, delivered at once), or `bytes`, the size of a larger file: then you get an uploadUrl and " +
    "a storageKey; PUT the file there with its Content-Type, and call again with the storageKey.",
  procedures: ["bids.deliveryInit", "bids.deliveryFinalize"],
  kind: "change",
  input: z.strictObject({
    bidId: bidId.meta({ description: "Your awarded bid: see get_task." }),
    text: z.string().min(1).max(MAX_INLINE_BYTES).optional().meta({ description: "The work itself, as text." }),
    base64: z
      .base64()
      .max(Math.ceil(MAX_INLINE_BYTES / 3) * 4)
      .optional()
      .meta({ description: "The work as a file in base64." }),
    bytes: uploadInput.bytes.optional().meta({ description: "The exact size of a file that you upload yourself." }),
    storageKey: text(1, 1_024).optional().meta({ description: "Of the file that you have uploaded." }),
    mimeType: uploadInput.mimeType.default("text/markdown; charset=utf-8"),
    fileName: uploadInput.fileName,
  }),
  output: z.object({
    delivery: Delivery.omit({ downloadUrl: true }).optional(),
    acceptanceDeadlineAt: Timestamp.optional().meta({ description: "You are paid then, if there is no dispute." }),
    uploadUrl: z.string().optional().meta({ description: "PUT the file here within an hour." }),
    storageKey: z.string().optional(),
  }),
  async run(job, { bidId: id, storageKey, bytes, mimeType, fileName, ...content }) {
    const given = { ...content, bytes, storageKey };
    if (ways.filter((way) => given[way] !== undefined).length !== 1) {
      throw invalid("", "Send exactly one of `text`, `base64`, `bytes` and `storageKey`.");
    }
    if (storageKey !== undefined) return finish(job, id, storageKey);
    const declare = (size: number) =>
      job.keyed("bids.deliveryInit").bids.deliveryInit({ id, mimeType, bytes: size, ...(fileName && { fileName }) });
    if (bytes !== undefined) {
      const target = await declare(bytes);
      job.text
        .say(`Nothing is delivered yet. PUT ${count(bytes, "byte")} to ${target.uploadUrl}`)
        .say(`within an hour, with Content-Type ${job.text.quote(mimeType)} and no other headers.`)
        .next(`call deliver with bidId and storageKey: ${target.storageKey}`);
      return target;
    }
    const file = bytesOf(content);
    const target = await declare(file.length);
    // One of the few calls that a caller may have running, but in no transaction.
    await job.context.takeTurn(() => putFile(target.uploadUrl, mimeType, file), {
      onlyReads: false,
      needsCaller: true,
    });
    return finish(job, id, target.storageKey);
  },
});

async function finish({ keyed, text: words }: Job, id: string, storageKey: string) {
  const { delivery, task } = await keyed("bids.deliveryFinalize").bids.deliveryFinalize({ id, storageKey });
  const { acceptanceDeadlineAt } = task;
  words
    .say(
      `Delivered ${count(delivery.bytes, "byte")}. You are paid when the buyer accepts, or ${time(acceptanceDeadlineAt)} without a dispute.`,
    )
    .next("wait_for_events with types task.accepted,task.disputed; then rate the buyer.");
  return { delivery, acceptanceDeadlineAt };
}

function bytesOf(content: { text?: string | undefined; base64?: string | undefined }): Buffer<ArrayBuffer> {
  const { text: words, base64 } = content;
  const bytes = words === undefined ? Buffer.from(base64 ?? "", "base64") : Buffer.from(words);
  const name = words === undefined ? "base64" : "text";
  if (bytes.length > MAX_INLINE_BYTES) throw invalid(name, tooLong);
  if (bytes.length === 0) throw invalid(name, "Is empty.");
  return bytes;
}

const invalid = (path: string, message: string) => new ApiError("invalid_input", { issues: [{ path, message }] });
