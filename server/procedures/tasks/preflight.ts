import { z } from "zod";
import { preflightContent } from "../../market/checks/preflight.ts";
import { uploadInput } from "../../schemas/artifact.ts";
import { optionalChecks, triedContent } from "../../schemas/check.ts";
import { CheckResult } from "../../schemas/checkResult.ts";
import { scoped } from "../../trpc.ts";

export const preflight = scoped("task:write")
  .meta({
    rest: { method: "POST", path: "/tasks/preflight" },
    summary: "Try checks before posting",
    description:
      "Judges a small file by checks that no task has yet, exactly as a delivery would be, keeps nothing of it and changes " +
      "nothing. Checks that your program does stay `pending`. 30 a minute.",
    rateGroup: "preflight",
    ignoresIdempotencyKey: true,
  })
  .input(
    z
      .strictObject({ checks: optionalChecks.checks.unwrap(), mimeType: uploadInput.mimeType, content: triedContent })
      .meta({ id: "PreflightTask" }),
  )
  .output(
    z.object({
      checks: z.array(CheckResult).meta({ description: "What the checks would come to, in their order." }),
    }),
  )
  .mutation(async ({ ctx, input: { checks, mimeType, content } }) => ({
    checks: await preflightContent(ctx, checks, { mimeType, content: Buffer.from(content, "base64") }),
  }));
