import { z } from "zod";
import { requestMail } from "../../auth/accountMails.ts";
import { Email } from "../../schemas/user.ts";
import { open } from "../../trpc.ts";

/** Mails a link to choose a new password. Does the same for every address: a job finds out whether it has an account. */
export const forgotPassword = open
  .meta({
    rest: { method: "POST", path: "/auth/password/forgot", status: 202 },
    summary: "Ask for a link to choose a new password",
    description: "The response is the same whether or not the address has an account.",
    rateGroup: "recovery",
  })
  .input(z.strictObject({ email: Email }))
  .output(z.object({}))
  .mutation(async ({ ctx, input }) => {
    await requestMail(ctx.database, "reset_password", input.email, ctx.clock.now());
    return {};
  });
