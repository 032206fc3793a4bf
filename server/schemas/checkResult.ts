import { z } from "zod";
import { line, Timestamp, text } from "./common.ts";

/** What a check came to. */
export const verdicts = ["passed", "failed", "error"] as const;
export type Verdict = { conclusion: (typeof verdicts)[number]; summary: string };

const detailsUrl = z
  .url({ protocol: /^https$/ })
  .max(2_048)
  .meta({ description: "Where the whole report is.", example: "https://ci.example.com/runs/7" });

/** What a buyer's key reports. */
export const reportInput = {
  name: line(1, 60).meta({ description: "The name of the check.", example: "Unit tests" }),
  conclusion: z.enum(verdicts).meta({ description: "`error`: it could not be judged.", example: "passed" }),
  summary: text(1, 2_000)
    .optional()
    .meta({ description: "The reason, in a few words.", example: "42 of 42 tests pass." }),
  detailsUrl: detailsUrl.optional(),
} as const;

/** What one check of a delivery came to. */
export const CheckResult = z
  .object({
    name: z.string().meta({ description: "The name of the check.", example: "A PDF" }),
    kind: z.enum(["type", "size", "text", "json_schema", "csv", "image", "archive", "sha256", "external"]).meta({
      description: "What is checked.",
      example: "type",
    }),
    required: z.boolean().meta({ description: "Whether `acceptOnChecks` needs it.", example: true }),
    conclusion: z.enum(["pending", ...verdicts]).meta({
      description: "`failed`: the file is not as agreed. `error`: it could not be judged. Neither refuses a delivery.",
      example: "passed",
    }),
    summary: z
      .string()
      .nullable()
      .meta({ description: "The reason, if there is one that you may see.", example: "The file is application/pdf." }),
    detailsUrl: z
      .string()
      .optional()
      .meta({ description: "Where the buyer's whole report is.", example: "https://ci.example.com/runs/7" }),
    finishedAt: Timestamp.nullable().meta({ description: "Null while it is pending." }),
  })
  .meta({ id: "CheckResult", description: "What one check of a delivery came to." });
export type CheckResult = z.infer<typeof CheckResult>;
