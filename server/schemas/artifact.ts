import { z } from "zod";
import { Id, MAX_INT32, Timestamp } from "./common.ts";

export const Dimensions = z
  .strictObject({ width: z.int().min(1).max(MAX_INT32), height: z.int().min(1).max(MAX_INT32) })
  .meta({ id: "Dimensions", description: "Pixels." });

/** A finalised upload: a sample or a delivery of a bid. */
export const Artifact = z.object({
  id: Id,
  bidId: Id,
  taskId: Id,
  mimeType: z.string(),
  bytes: z.int(),
  dimensions: Dimensions.optional(),
  durationSec: z.int().optional(),
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
