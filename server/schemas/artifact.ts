import { z } from "zod";
import { CheckResult } from "./checkResult.ts";
import { idOf, line, MAX_INT32, Timestamp, text } from "./common.ts";
import { must } from "./messages.ts";

const Dimensions = z
  .strictObject({
    width: z.int().min(1).max(MAX_INT32).meta({ description: "Pixels.", example: 1_920 }),
    height: z.int().min(1).max(MAX_INT32).meta({ description: "Pixels.", example: 1_080 }),
  })
  .meta({ id: "Dimensions", description: "Width and height of an image or video." });

const restrictedName = "[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}"; // RFC 6838, 4.2
const token = "[A-Za-z0-9!#$%&'*+.^_`|~-]+"; // RFC 9110, 5.6.2
const quotedString = '"(?:[ !#-\\[\\]-~]|\\\\[ -~])*"'; // RFC 9110, 5.6.4, without tabs and non-ASCII characters
const mimeTypePattern = new RegExp(
  `^${restrictedName}/${restrictedName}(?: *;(?: *${token}=(?:${token}|${quotedString}))?)*$`,
);

/** The pattern for the API document, which leaves parameters to the service: generated code copies it into its messages. */
const shortPattern = `^${restrictedName}/${restrictedName}( *;.*)?$`;

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
    .meta({
      description: "A MIME type, with or without parameters.",
      pattern: shortPattern,
      example: "text/markdown; charset=utf-8",
    }),
  // No upper bound here: a file that is too large is answered with its limits.
  bytes: z.int().min(1).meta({ description: "The file's exact size.", example: 12_000 }),
  dimensions: Dimensions.meta({ description: "Of an image or video; judged by its type's limit." }).optional(),
  durationSec: z
    .number()
    .min(0)
    .max(MAX_INT32)
    .optional()
    .meta({ description: "Seconds, of audio or video; judged by its type's limit.", example: 12.5 }),
  fileName: FileName.optional(),
} as const;

/** A finalised upload: a sample or a delivery of a bid. */
export const Artifact = z.object({
  id: idOf("sample", "The file's id."),
  bidId: idOf("bid", "The bid that the file belongs to."),
  taskId: idOf("task", "The task that the file belongs to."),
  mimeType: z.string().meta({ description: "As it was declared.", example: "image/png" }),
  detectedMimeType: z.string().nullable().meta({
    description: "What the bytes are, without parameters; null when they are not recognised.",
    example: "image/png",
  }),
  fileName: z.string().optional().meta({ description: "The name that downloads have.", example: "page-1.png" }),
  bytes: z.int32().meta({ description: "The file's size.", example: 48_213 }),
  dimensions: Dimensions.optional().meta({ description: "Pixels, as declared." }),
  detectedDimensions: Dimensions.optional().meta({ description: "Pixels, as the file states them." }),
  durationSec: z.number().optional().meta({ description: "Seconds, as declared.", example: 12.5 }),
  detectedDurationSec: z.number().optional().meta({ description: "Seconds, as the file states them.", example: 12.5 }),
  sha256: z.string().optional().meta({
    description: "SHA-256 of the bytes, in hex, if the object store knows it.",
    example: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
  }),
  createdAt: Timestamp.meta({ description: "When the upload was finalised." }),
  downloadUrl: z.string().meta({
    description: "Works for 15 minutes. Read the record again to get a new one.",
    format: "uri",
    example: "https://objects.example.com/rebid/samples/1?X-Amz-Signature=5f2b",
  }),
});
export type Artifact = z.infer<typeof Artifact>;

export const Sample = Artifact.meta({
  id: "Sample",
  description: "A file that shows the buyer how the work is going.",
});
export const Delivery = Artifact.omit({ dimensions: true, durationSec: true })
  .extend({
    id: idOf("delivery", "The file's id."),
    // The default is for kept answers from before the field existed.
    supersededAt: Timestamp.nullable()
      .meta({
        description: "When a later delivery replaced this one; null for the one that counts.",
        example: null,
      })
      .prefault(null),
    // As above.
    checks: z
      .array(CheckResult)
      .meta({ description: "What the checks of the task came to, in their order.", example: [] })
      .default([]),
  })
  .meta({ id: "Delivery", description: "A file that was delivered." });

/** A sample or delivery, before output validation drops the fields that its kind does not have. */
export type SampleOrDelivery = Artifact & Pick<z.infer<typeof Delivery>, "supersededAt" | "checks">;

const exampleStorageKey = "samples/019aa1b2-0000-7000-8000-000000000004/019aa1b2-0000-7000-8000-000000000006";

/** Where to PUT the bytes, and the key that names the upload when it is finalised. */
export const UploadTarget = z
  .object({
    uploadUrl: z.string().meta({
      description: "PUT the bytes here within an hour, with the declared `Content-Type` and `Content-Length`.",
      format: "uri",
      example: "https://objects.example.com/rebid/samples/1?X-Amz-Signature=5f2b",
    }),
    storageKey: z
      .string()
      .meta({ description: "Finish the upload with it, within 24 hours.", example: exampleStorageKey }),
  })
  .meta({ id: "UploadTarget", description: "Where to PUT a file's bytes, and the key to finish its upload with." });

/** What `init` returned. Whether it was issued for the bid is checked against the database. */
export const StorageKey = text(0, 1_024).meta({
  description: "As the start of the upload returned it.",
  example: exampleStorageKey,
});
