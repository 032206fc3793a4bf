import { z } from "zod";
import { getApproval } from "../../auth/approvals/decide.ts";
import { toApproval } from "../../auth/approvals/records.ts";
import { Approval } from "../../schemas/approval.ts";
import { idOf } from "../../schemas/common.ts";
import { signedIn } from "../../trpc.ts";

export const read = signedIn
  .meta({
    rest: { method: "GET", path: "/approvals/{id}" },
    summary: "Read an approval",
    description:
      "Returns what one of your API keys has asked you, as it is at this moment. An API key can read only what it has asked itself.",
    errors: ["not_found"],
  })
  .input(z.strictObject({ id: idOf("approval") }))
  .output(z.object({ approval: Approval.meta({ description: "The approval." }) }))
  .query(async ({ ctx, input: { id } }) => ({ approval: toApproval(await getApproval(ctx, ctx.principal, id)) }));
