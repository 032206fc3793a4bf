import { z } from "zod";
import { Id, line, MAX_INT32, Timestamp } from "./common.ts";
import { must } from "./messages.ts";

const Dimensions = z
  .strictObject({ width: z.int().min(1).max(MAX_INT32), height: z.int().min(1).max(MAX_INT32) })
  .meta({ id: "Dimensions", description: "Pixels." });

const restrictedName = "[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}"; // RFC 6838, 4.2
const token = "[A-Za-z0-9!#$%&'*+.^_`|~-]+"; // RFC 9110, 5.6.2
const quotedString = '"(?:[ !#-\\[\\]-~]|\\\\[ -~])*"'; // RFC 9110, 5.6.4, without tabs and non-ASCII characters
const mimeTypePattern = new RegExp(
  `^${restrictedName}/${restrictedName}(?: *;(?: *${token}=(?:${token}|${quotedString}))?)*$`,
);

/** A name without a path: it becomes the name of a file on other people's disks. */
const FileName = line(1, 255)
  .refine((name) => !/[/\\]/.test(name) && name !== "." && name !== "..", {
    error: must("be the name of a file, without a path"),
  })
  .meta({ description: "The name that downloads have, without a path.", example: "report.pdf" });

/** What a client declares about a file before it uploads it. Source: docs/contract.md "Uploads". */
export const uploadInput = {
  mimeType: z
    .string()
    .max(255)
    .regex(mimeTypePattern, { error: must("be a MIME type, such as text/plain or text/csv; charset=utf-8") })
    .meta({ description: "A MIME type, with or without parameters.", example: "text/markdown; charset=utf-8" }),
  // No upper bound here: a file that is too large is answered with its limits.
  bytes: z.int().min(1).meta({ description: "The file's exact size.", example: 12_000 }),
  dimensions: Dimensions.optional(),
  durationSec: z.number().min(0).max(MAX_INT32).optional().meta({ description: "Seconds.", example: 12.5 }),
  fileName: FileName.optional(),
} as const;

/** A finalised upload: a sample or a delivery of a bid. */
export const Artifact = z.object({
  id: Id,
  bidId: Id,
  taskId: Id,
  mimeType: z.string().meta({ description: "As it was declared." }),
  detectedMimeType: z.string().nullable().meta({
    description: "What the bytes are, without parameters; null when they are not recognised.",
    example: "image/png",
  }),
  fileName: z.string().optional(),
  bytes: z.int(),
  dimensions: Dimensions.optional().meta({ description: "Pixels, as declared." }),
  detectedDimensions: Dimensions.optional().meta({ description: "Pixels, as the file states them." }),
  durationSec: z.number().optional().meta({ description: "Seconds, as declared." }),
  detectedDurationSec: z.number().optional().meta({ description: "Seconds, as the file states them." }),
  sha256: z.string().optional(),
  createdAt: Timestamp,
  downloadUrl: z.string().meta({ description: "Valid for 15 minutes. Read the record again to get a new one." }),
});
export type Artifact = z.infer<typeof Artifact>;

export const Sample = Artifact.meta({ id: "Sample" });
export const Delivery = Artifact.omit({ dimensions: true, durationSec: true }).meta({ id: "Delivery" });

/** Where to PUT the bytes, and the key that names the upload when it is finalised. */
export const UploadTarget = z
  .object({
    uploadUrl: z.string().meta({
      description: "PUT the bytes here within an hour, with the declared `Content-Type` and `Content-Length`.",
    }),
    storageKey: z.string(),
  })
  .meta({ id: "UploadTarget" });
