import { TRPCError } from "@trpc/server";
import { z } from "zod";
import type { Prisma } from "../../../../../prisma/generated/client.ts";
import { prisma, scoped } from "./context.ts";
import { Bid, bidFields, NewBid, NewTask, OwnTask, taskFields, toBid, toTask } from "./records.ts";

type Transaction = Prisma.TransactionClient;

/** An event and the queue's row that has it sent. */
export async function tell(tx: Transaction, type: string, taskId: string, recipients: string[], data: object) {
  const { id } = await tx.event.create({
    data: { type, taskId, recipients, data: JSON.parse(JSON.stringify(data)) },
    select: { id: true },
  });
  await tx.eventLogQueueRow.create({ data: { eventId: id } });
}

interface Entry {
  userId: string;
  kind: string;
  bucket: string;
  amountCents: number;
}

/** A transfer with its entries. */
export async function enter(tx: Transaction, reason: { taskId: string; bidId?: string }, entries: Entry[]) {
  const data = { ...reason, entries: { createMany: { data: entries } } };
  await tx.ledgerTransfer.create({ data, select: { id: true } });
}

export const createTask = scoped("task:write")
  .meta({ openapi: { method: "POST", path: "/tasks" } })
  .input(NewTask)
  .output(z.object({ task: OwnTask }))
  .mutation(({ ctx: { userId }, input }) =>
    prisma.$transaction(async (tx) => {
      const { acceptanceCriteria = null, ...fields } = input;
      const data = { ...fields, acceptanceCriteria, buyerId: userId };
      const task = toTask(await tx.task.create({ data, select: taskFields }));
      const cents = input.maxBudgetCents;
      const paid = await tx.wallet.updateMany({
        where: { userId, availableCents: { gte: cents } },
        data: { availableCents: { decrement: cents }, heldCents: { increment: cents } },
      });
      if (paid.count === 0) throw new TRPCError({ code: "CONFLICT", message: "insufficient funds" });
      await enter(tx, { taskId: task.id }, [
        { userId, kind: "hold", bucket: "available", amountCents: -cents },
        { userId, kind: "hold", bucket: "held", amountCents: cents },
      ]);
      await tell(tx, "task.created", task.id, [], { task });
      return { task };
    }),
  );

export const placeBid = scoped("bid:write")
  .meta({ openapi: { method: "POST", path: "/tasks/{id}/bids" } })
  .input(NewBid)
  .output(z.object({ bid: Bid }))
  .mutation(({ ctx: { userId }, input: { id: taskId, notes = null, ...terms } }) =>
    prisma.$transaction(async (tx) => {
      const { count } = await tx.task.updateMany({
        where: { id: taskId, status: "open", maxBudgetCents: { gte: terms.priceCents }, buyerId: { not: userId } },
        data: { bidCount: { increment: 1 }, updatedAt: new Date() },
      });
      if (count === 0) throw new TRPCError({ code: "CONFLICT" });
      const task = toTask(await tx.task.findUniqueOrThrow({ where: { id: taskId }, select: taskFields }));
      const data = { ...terms, taskId, notes, bidderId: userId };
      const bid = toBid(await tx.bid.create({ data, select: bidFields }));
      await tell(tx, "bid.received", taskId, [task.buyer.id], { task, bid });
      return { bid };
    }),
  );
