import { findLastAudit } from "../../audit/nightly.ts";
import { readFeeFigures } from "../../market/fees/figures.ts";
import { countUnfinishedPayouts } from "../../market/payouts/unfinished.ts";
import { countWaiting } from "../../market/waiting.ts";
import { NoInput } from "../../schemas/common.ts";
import { Operations } from "../../schemas/operations.ts";
import { moderator } from "../../trpc.ts";
import { readBacklog } from "../../webhooks/backlog.ts";

export const read = moderator
  .meta({
    rest: { method: "GET", path: "/operations" },
    summary: "Read how the service is doing",
    description:
      "Returns the last audit of the ledger in full, the payouts under way by state and age, the platform's fees by month, and " +
      "the jobs, processor events and webhook deliveries that wait. Most of it is also in `/metrics`. Only moderators can read it.",
  })
  .input(NoInput)
  .output(Operations)
  .query(async ({ ctx }) => {
    const { database, clock } = ctx;
    const last = await findLastAudit(ctx);
    const fees = await readFeeFigures(database, ctx.settings.operatorTimeZone);
    return {
      audit: last && { ...last.report, finishedAt: last.finishedAt },
      unfinishedPayouts: await countUnfinishedPayouts(ctx),
      waiting: await countWaiting(ctx),
      deliveries: await readBacklog(database, clock.now()),
      ...(fees && { fees }),
    };
  });
