import { TRPCError } from "@trpc/server";
import { z } from "zod";
import { open, prisma, scoped } from "./context.ts";
import {
  Bid,
  bidFields,
  Entry,
  File,
  fileFields,
  listItemFields,
  Page,
  Task,
  TaskListItem,
  taskFields,
  toBid,
  toTask,
} from "./records.ts";

const olderThan = (cursor: string | undefined) => (cursor === undefined ? {} : { createdAt: { lt: new Date(cursor) } });
const cursorOf = (rows: { createdAt: Date }[], limit: number) =>
  rows.length < limit ? null : (rows.at(-1)?.createdAt ?? null);

export const listTasks = open
  .meta({ openapi: { method: "GET", path: "/tasks" } })
  .input(Page)
  .output(z.object({ tasks: z.array(TaskListItem), nextCursor: z.date().nullable() }))
  .query(async ({ input: { cursor, limit } }) => {
    const tasks = await prisma.task.findMany({
      ...{ where: { status: "open", ...olderThan(cursor) }, select: listItemFields },
      ...{ orderBy: { createdAt: "desc" }, take: limit },
    });
    return { tasks, nextCursor: cursorOf(tasks, limit) };
  });

export const readTask = scoped()
  .meta({ openapi: { method: "GET", path: "/tasks/{id}" } })
  .input(z.object({ id: z.uuid() }))
  .output(
    z.object({
      ...{ task: Task, fileCount: z.number(), questionCount: z.number(), availableActions: z.array(z.string()) },
      ...{ bids: z.array(Bid), files: z.array(File) },
    }),
  )
  .query(async ({ ctx, input: { id } }) => {
    const brief = { where: { kind: "brief" }, select: fileFields };
    const select = { ...taskFields, fileCount: true, questionCount: true, artifacts: brief } as const;
    const found = await prisma.task.findUnique({ where: { id }, select });
    if (found === null) throw new TRPCError({ code: "NOT_FOUND" });
    const { fileCount, questionCount, artifacts, ...task } = found;
    const isBuyer = task.buyer.id === ctx.userId;
    const bids = await prisma.bid.findMany({
      ...{ where: { taskId: id, ...(isBuyer ? {} : { bidderId: ctx.userId }) }, select: bidFields },
      ...{ orderBy: { createdAt: "desc" }, take: 100 },
    });
    const mayBid = task.status === "open" && !isBuyer && !bids.some(({ status }) => status === "active");
    const availableActions = mayBid ? ["bids.place"] : [];
    const files = artifacts.map(({ id, upload }) => ({ id, ...upload }));
    return { task: toTask(task), fileCount, questionCount, availableActions, bids: bids.map(toBid), files };
  });

export const listEntries = scoped()
  .meta({ openapi: { method: "GET", path: "/wallet/ledger" } })
  .input(Page)
  .output(z.object({ entries: z.array(Entry), nextCursor: z.date().nullable() }))
  .query(async ({ ctx, input: { cursor, limit } }) => {
    const rows = await prisma.ledgerEntry.findMany({
      where: { userId: ctx.userId, bucket: { in: ["available", "held"] }, ...olderThan(cursor) },
      select: {
        ...{ id: true, userId: true, kind: true, bucket: true, amountCents: true, createdAt: true },
        transfer: { select: { taskId: true, bidId: true, externalRef: true, task: { select: { title: true } } } },
        payout: { select: { id: true, paidAt: true } },
      },
      ...{ orderBy: { createdAt: "desc" }, take: limit },
    });
    const references = rows.flatMap(({ transfer }) => transfer.externalRef ?? []);
    const topups = await prisma.topup.findMany({
      where: { paymentIntentId: { in: references } },
      select: { id: true, paymentIntentId: true },
    });
    const topupIds = new Map(topups.map(({ id, paymentIntentId }) => [paymentIntentId, id]));
    const entries = rows.map(({ transfer: { task, ...transfer }, payout, amountCents, ...entry }) => {
      const topupId = (entry.kind === "topup" ? topupIds.get(transfer.externalRef) : null) ?? null;
      const ids = { topupId, payoutId: payout?.id ?? null };
      const isPayment = entry.kind === "task_payment" || entry.kind === "task_earning";
      const hasReceipt = isPayment || topupId !== null || (payout !== null && payout.paidAt !== null);
      return {
        ...entry,
        ...transfer,
        amountCents: Number(amountCents),
        taskTitle: task?.title ?? null,
        ...ids,
        hasReceipt,
      };
    });
    return { entries, nextCursor: cursorOf(entries, limit) };
  });
