import { z } from "zod";
import { ApiError } from "../../errors.ts";
import { uploadInput } from "../../schemas/artifact.ts";
import { text } from "../../schemas/common.ts";
import { count } from "../text.ts";
import type { Api, Job } from "../tool.ts";
import { putFile } from "../transfer.ts";

/** What fits into a body of 256 KiB as base64, with room for everything else. Source: docs/contract.md "MCP". */
const MAX_INLINE_BYTES = 100_000;

const ways = ["text", "base64", "bytes", "storageKey"] as const;

const tooLong = `Has more than ${MAX_INLINE_BYTES} bytes. Send \`bytes\` instead, and upload the file to the address that you get.`;

/** The arguments of a tool that sends a file: itself, or its size, or the key of one that was uploaded. */
export const fileInput = {
  text: z.string().min(1).max(MAX_INLINE_BYTES).optional().meta({ description: "The file itself, as text." }),
  base64: z
    .base64()
    .max(Math.ceil(MAX_INLINE_BYTES / 3) * 4)
    .optional()
    .meta({ description: "The file in base64." }),
  bytes: uploadInput.bytes.optional().meta({ description: "The exact size of a file that you upload yourself." }),
  storageKey: text(1, 1_024).optional().meta({ description: "Of the file that you have uploaded." }),
  mimeType: uploadInput.mimeType.default("text/markdown; charset=utf-8"),
  fileName: uploadInput.fileName,
} as const;

/** What such a tool answers before the file is there. */
export const uploadOutput = {
  uploadUrl: z.string().optional().meta({ description: "PUT the file here within an hour." }),
  storageKey: z.string().optional(),
} as const;

interface GivenFile {
  text?: string | undefined;
  base64?: string | undefined;
  bytes?: number | undefined;
  storageKey?: string | undefined;
  mimeType: string;
  fileName?: string | undefined;
}

/** Where a file goes. */
interface Destination<Finished> {
  tool: string;
  /** The operation that declares a file, by the name of typed RPC. */
  operation: string;
  declare(api: Api, file: { mimeType: string; bytes: number; fileName?: string }): Promise<UploadTarget>;
  finish(storageKey: string): Promise<Finished>;
}
interface UploadTarget {
  uploadUrl: string;
  storageKey: string;
}

/** Declares, uploads and finishes a file, or the next of these steps. Returns what it finished, or where to upload. */
export async function sendFile<Finished>(
  job: Job,
  { mimeType, fileName, ...given }: GivenFile,
  { tool, operation, declare, finish }: Destination<Finished>,
): Promise<Finished | UploadTarget> {
  if (ways.filter((way) => given[way] !== undefined).length !== 1) {
    throw invalid("", "Send exactly one of `text`, `base64`, `bytes` and `storageKey`.");
  }
  const { storageKey, bytes } = given;
  if (storageKey !== undefined) return finish(storageKey);
  const described = { mimeType, ...(fileName && { fileName }) };
  if (bytes !== undefined) {
    const target = await declare(job.keyed, { ...described, bytes });
    job.text
      .say(`Nothing is sent yet. PUT ${count(bytes, "byte")} to ${target.uploadUrl}`)
      .say(`within an hour, with Content-Type ${job.text.quote(mimeType)} and no other headers.`)
      .next(`call ${tool} with bidId and storageKey: ${target.storageKey}`);
    return target;
  }
  const file = bytesOf(given);
  const target = await declare(job.keyedStep(operation), { ...described, bytes: file.length });
  // One of the few calls that a caller may have running, but in no transaction.
  const turn = { onlyReads: false, left: job.context.callerLeft };
  await job.context.turns.run(turn, () => putFile(target.uploadUrl, mimeType, file));
  return finish(target.storageKey);
}

function bytesOf({ text: words, base64 }: GivenFile | Omit<GivenFile, "mimeType">): Buffer<ArrayBuffer> {
  const bytes = words === undefined ? Buffer.from(base64 ?? "", "base64") : Buffer.from(words);
  const name = words === undefined ? "base64" : "text";
  if (bytes.length > MAX_INLINE_BYTES) throw invalid(name, tooLong);
  if (bytes.length === 0) throw invalid(name, "Is empty.");
  return bytes;
}

const invalid = (path: string, message: string) => new ApiError("invalid_input", { issues: [{ path, message }] });
