import { z } from "zod";
import { Artifact } from "./artifact.ts";
import { idOf, Timestamp } from "./common.ts";

export const visibilities = ["public", "awarded"] as const;
export type Visibility = (typeof visibilities)[number];

export const Visibility = z.enum(visibilities).meta({
  id: "Visibility",
  description:
    "Who may download a file of a brief. `public`: whoever is signed in. `awarded`: the buyer and the awarded bidder.",
});

const { mimeType, detectedMimeType, bytes, downloadUrl } = Artifact.shape;

/** What every file has that people give each other. */
const file = {
  id: idOf("file"),
  fileName: z.string().nullable().meta({ description: "The name that downloads have.", example: "pages.md" }),
  mimeType,
  detectedMimeType,
  bytes,
  sha256: z.string().nullable().meta({
    description:
      "SHA-256 of the bytes, in hex. Null if the object store does not know it, or you may not download the file.",
    example: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
  }),
  createdAt: Timestamp.meta({ description: "When the upload was finalised." }),
} as const;

/** A file of a message. */
export const MessageFile = z
  .object({ ...file, downloadUrl })
  .meta({ id: "MessageFile", description: "A file of a message." });
export type MessageFile = z.infer<typeof MessageFile>;

/** A file of a task's brief. Source: docs/contract.md "Uploads". */
export const BriefFile = z
  .object({
    ...file,
    visibility: Visibility,
    downloadUrl: downloadUrl
      .optional()
      .meta({ description: `${downloadUrl.description} Absent if you may not download the file.` }),
  })
  .meta({ id: "BriefFile", description: "A file of a task's brief." });
export type BriefFile = z.infer<typeof BriefFile>;
