import { z } from "zod";
import { idOf, Timestamp } from "./common.ts";

/** What a file can be about, and the formats that it can have. Source: docs/contract.md "Exports". */
export const exportFormats = {
  ledger: ["csv", "json"],
  statement: ["csv", "json", "pdf"],
  receipt: ["json", "pdf"],
  account: ["json"],
} as const;

export type ExportKind = keyof typeof exportFormats;
const exportKinds = Object.keys(exportFormats) as ExportKind[]; // the keys of a literal are its type's keys

const kind = z.enum(exportKinds).meta({
  description:
    "`ledger`: all entries of your ledger, newest first. `statement`: a month of your wallet. `receipt`: one " +
    "payment. `account`: everything that " +
    "the service knows about you, which only a browser session may ask for.",
  example: "ledger",
});
const format = z.enum(["csv", "json", "pdf"]).meta({
  description:
    "Of `ledger`: `csv` or `json`; of `statement`: `csv`, `json` or `pdf`; of `receipt`: `json` or `pdf`; of `account`: `json`.",
  example: "csv",
});

/** What is asked for. `exportProblems` says what does not fit together. */
export const CreateExport = z
  .strictObject({
    kind,
    format,
    month: z
      .string()
      .regex(/^[12]\d{3}-(0[1-9]|1[0-2])$/)
      .meta({
        description: "Of a `statement`: its month, in the operator's time zone.",
        maxLength: 7,
        example: "2026-11",
      })
      .optional(),
    taskId: idOf("task", "Of a `receipt`: the task that was paid for.").optional(),
    topupId: idOf("top-up", "Of a `receipt`: the top-up that was credited.").optional(),
    payoutId: idOf("payout", "Of a `receipt`: the payout that was paid.").optional(),
  })
  .meta({ id: "CreateExport" });
export type CreateExport = z.infer<typeof CreateExport>;

/** A file that somebody takes away, without a link to it. */
export const ExportRecord = z
  .object({
    id: idOf("export"),
    kind,
    format,
    status: z.enum(["pending", "ready", "failed"]).meta({
      description: "`pending`: being made, mostly within seconds. `failed`: it could not be made. Ask again.",
      example: "ready",
    }),
    fileName: z.string().nullable().meta({ description: "Null until it is ready.", example: "ledger-2026-11-25.csv" }),
    bytes: z.int().nullable().meta({ description: "The file's size; null until it is ready.", example: 5_120 }),
    createdAt: Timestamp.meta({ description: "When it was asked for." }),
    expiresAt: Timestamp.meta({ description: "When the export and its file are deleted: after 7 days." }),
  })
  .meta({ id: "ExportRecord", description: "A file that you take away, without a link to it." });
export type ExportRecord = z.infer<typeof ExportRecord>;

export const Export = ExportRecord.extend({
  downloadUrl: z
    .string()
    .optional()
    .meta({ description: "Downloads the file; expires after 15 minutes. Only once it is ready.", format: "uri" }),
}).meta({ id: "Export", description: "A file that you take away." });
