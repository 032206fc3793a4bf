import { z } from "zod";
import { ApiError } from "../../errors.ts";
import { ClockAdvance, Duration, parseDuration } from "../../schemas/testClock.ts";
import { advanceClock as advance } from "../../testClock/advance.ts";
import { embeddedOnly } from "../../trpc.ts";

export const advanceClock = embeddedOnly
  .meta({
    rest: { method: "POST", path: "/test/clock" },
    summary: "Move the test clock forward",
    description:
      "Moves the service's time forward: deadlines pass, webhooks are retried, sessions end. The answer comes when " +
      "everything that fell due is done, or says what is not. The clock never runs backwards.",
    errors: ["not_found", "forbidden"],
    takesOwnTurns: true,
  })
  .input(z.strictObject({ advance: Duration }).meta({ id: "AdvanceTestClock" }))
  .output(ClockAdvance)
  .mutation(async ({ ctx, input }) => {
    if (ctx.isForeignPage) {
      const message = "A page of another site may not move the clock.";
      throw new ApiError("forbidden", { message });
    }
    const busyAgain = ctx.turns.idle();
    try {
      return await advance(ctx, ctx.testClock, parseDuration(input.advance) ?? 0);
    } finally {
      busyAgain();
    }
  });
