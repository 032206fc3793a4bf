import { findLastAudit } from "../../audit/nightly.ts";
import { countUnfinishedPayouts } from "../../market/payouts/unfinished.ts";
import { countWaiting } from "../../market/waiting.ts";
import { NoInput } from "../../schemas/common.ts";
import { Operations } from "../../schemas/operations.ts";
import { moderator } from "../../trpc.ts";
import { readBacklog } from "../../webhooks/backlog.ts";

/** How the service is doing: the last audit of the ledger, and what is under way or waits. */
export const read = moderator
  .meta({
    rest: { method: "GET", path: "/operations" },
    summary: "See how the service is doing",
    description: "The figures of `/metrics` that concern money and background work, and the last audit in full.",
  })
  .input(NoInput)
  .output(Operations)
  .query(async ({ ctx }) => {
    const { database, clock } = ctx;
    const last = await findLastAudit(ctx);
    return {
      audit: last && { ...last.report, finishedAt: last.finishedAt },
      unfinishedPayouts: await countUnfinishedPayouts(ctx),
      waiting: await countWaiting(database),
      deliveries: await readBacklog(database, clock.now()),
    };
  });
