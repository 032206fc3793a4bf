import { z } from "zod";
import { BidStatus } from "../../schemas/bid.ts";
import { Cents, Id, Timestamp } from "../../schemas/common.ts";
import { type LogEvent, type LogEventType, logEventTypes } from "../../schemas/event.ts";
import { LogQuery } from "../../schemas/eventLog.ts";
import { TaskStatus } from "../../schemas/task.ts";
import { count, money } from "../text.ts";
import { plainTool } from "../tool.ts";

const { after } = LogQuery.shape;

/** An event without the records that it brings: get_task has them as they are now. */
const Event = z.object({
  id: Id,
  type: z.enum(logEventTypes),
  createdAt: Timestamp,
  taskId: Id.optional(),
  taskStatus: TaskStatus.optional().meta({ description: "After the event." }),
  title: z.string().optional(),
  bidId: Id.optional(),
  bidStatus: BidStatus.optional().meta({ description: "After the event." }),
  priceCents: z.int().optional().meta({ description: "Of the bid, in integer cents." }),
  amountCents: Cents.optional().meta({ description: "Of the top-up, reversal or payout, in integer cents." }),
  payoutId: Id.optional(),
  payoutStatus: z.string().optional(),
  stars: z.int().optional(),
  approvalId: Id.optional(),
  approvalStatus: z.string().optional(),
});
type Event = z.infer<typeof Event>;

export const waitForEvents = plainTool({
  name: "wait_for_events",
  title: "Wait for events",
  description:
    "Says what has happened since `after`, oldest first: bids on your tasks, awards, deliveries, payments. If nothing has, waits up " +
    "to `wait` seconds. Keep `nextCursor` and send it as `after` next time: nothing is missed and nothing comes twice. Begin with " +
    "`after: latest` for what happens from now on.",
  procedures: ["events.list"],
  kind: "read",
  input: z.strictObject({
    after,
    types: z
      .array(z.enum(logEventTypes))
      .min(1)
      .optional()
      .meta({ description: "Only these, such as bid.received. Left out: all, every new task of the market included." }),
    wait: LogQuery.shape.wait.removeDefault().default(20),
    limit: LogQuery.shape.limit.removeDefault().default(10),
  }),
  output: z.object({ events: z.array(Event), nextCursor: z.string() }),
  async run({ api, text }, { types, ...query }) {
    const page = await api.events.list({ ...query, ...(types && { types }) });
    const events = page.events.map(summaryOf);
    for (const event of events) {
      text.say(`- ${event.type}${wordsOf(event)}${event.title === undefined ? "" : ` ${text.quote(event.title)}`}`);
    }
    text
      .say(events.length === 0 ? "Nothing happened." : `${count(events.length, "event")}.`)
      .next(`wait_for_events with after: ${page.nextCursor}`);
    return { events, nextCursor: page.nextCursor };
  },
});

function wordsOf({
  taskId,
  bidId,
  priceCents,
  payoutId,
  payoutStatus,
  approvalId,
  approvalStatus,
  ...rest
}: Event): string {
  const { amountCents, stars } = rest;
  const words = [
    taskId && `task ${taskId}`,
    bidId && `bid ${bidId}`,
    priceCents !== undefined && money(priceCents),
    approvalId && `approval ${approvalId} ${approvalStatus}`,
    payoutId && `payout ${payoutId} ${payoutStatus}`,
    amountCents !== undefined && money(amountCents),
    stars !== undefined && `${stars} of 5 stars`,
  ].filter((word) => typeof word === "string");
  return words.length === 0 ? "" : `: ${words.join(", ")}`;
}

function summaryOf({ id, type, createdAt, data }: LogEvent): Event {
  return {
    ...{ id, type: type satisfies LogEventType, createdAt },
    ...("task" in data && { taskId: data.task.id, taskStatus: data.task.status, title: data.task.title }),
    ...("bid" in data && { bidId: data.bid.id, bidStatus: data.bid.status, priceCents: data.bid.priceCents }),
    ...("payout" in data && {
      payoutId: data.payout.id,
      payoutStatus: data.payout.status,
      amountCents: data.payout.amountCents,
    }),
    ...("topup" in data && { amountCents: "reversal" in data ? data.reversal.amountCents : data.topup.amountCents }),
    ...("approval" in data && {
      approvalId: data.approval.id,
      approvalStatus: data.approval.status,
      amountCents: data.approval.amountCents,
    }),
    ...("rating" in data && { stars: data.rating.stars }),
  };
}
