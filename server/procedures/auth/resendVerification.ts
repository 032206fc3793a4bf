import { z } from "zod";
import { requestMail } from "../../auth/accountMails.ts";
import { NoInput } from "../../schemas/common.ts";
import { queryOne, sql } from "../../store/connection.ts";
import { sessionOnly } from "../../trpc.ts";

export const resendVerification = sessionOnly
  .meta({
    rest: { method: "POST", path: "/auth/email/resend", status: 202 },
    summary: "Ask for another link to verify my email address",
    description:
      "Mails another link to verify your address, unless it is verified already. At most 5 mails an hour are sent.",
    rateGroup: "recovery",
  })
  .input(NoInput)
  .output(z.object({}))
  .mutation(({ ctx }) =>
    ctx.change(async (tx) => {
      const { email } = await queryOne<{ email: string }>(
        tx,
        sql`SELECT email FROM users WHERE id = ${ctx.userId}::uuid`,
      );
      await requestMail(tx, "verify_email", email, ctx.clock.now());
      return {};
    }),
  );
