import { z } from "zod";
import { requestMail } from "../../auth/accountMails.ts";
import { Email } from "../../schemas/user.ts";
import { anyone } from "../../trpc.ts";

/** Does the same for every address: a job finds out whether it has an account. */
export const forgotPassword = anyone
  .meta({
    rest: { method: "POST", path: "/auth/password/forgot", status: 202 },
    summary: "Ask for a link to choose a new password",
    description:
      "Mails a link to choose a new password, if the address has an account. The response is the same for every " +
      "address. The link works once, for an hour, and at most 5 mails an hour are sent to one account.",
    rateGroup: "recovery",
  })
  .input(z.strictObject({ email: Email }))
  .output(z.object({}))
  .mutation(async ({ ctx, input }) => {
    await requestMail(ctx.database, "reset_password", input.email, ctx.clock.now());
    return {};
  });
