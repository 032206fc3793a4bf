import { TRPCError } from "@trpc/server";
import { z } from "zod";
import { newStorageKey, seal, signDownload, signUpload } from "../files.ts";
import { prisma, scoped } from "./context.ts";
import { Bid, bidFields, OwnTask, taskFields, toBid, toTask } from "./records.ts";
import { enter, tell } from "./writes.ts";

/** The rest of a lifecycle. Updates that name the expected status keep two requests from doing the same. */
const HOUR_MS = 3_600_000;
const id = z.uuid();
const refuse = () => new TRPCError({ code: "CONFLICT" });

export const award = scoped("task:write")
  .meta({ openapi: { method: "POST", path: "/tasks/{id}/award" } })
  .input(z.object({ id, bidId: id }))
  .output(z.object({ task: OwnTask, awardedBid: Bid }))
  .mutation(({ ctx: { userId }, input }) =>
    prisma.$transaction(async (tx) => {
      const found = await tx.bid.findFirst({ where: { id: input.bidId, taskId: input.id, status: "active" } });
      if (found === null) throw refuse();
      const now = new Date();
      const dueAt = new Date(now.getTime() + found.etaHours.toNumber() * HOUR_MS);
      const { count } = await tx.task.updateMany({
        where: { id: input.id, buyerId: userId, status: "open" },
        data: {
          ...{ status: "awarded", awardedBidId: found.id, awardedBidderId: found.bidderId },
          ...{ awardedAt: now, deliveryDueAt: dueAt, updatedAt: now },
        },
      });
      if (count === 0) throw refuse();
      const task = toTask(await tx.task.findUniqueOrThrow({ where: { id: input.id }, select: taskFields }));
      const change = { status: "awarded", updatedAt: now };
      const bid = toBid(await tx.bid.update({ where: { id: found.id }, data: change, select: bidFields }));
      const others = { taskId: input.id, status: "active" };
      const lost = await tx.bid.findMany({ where: others, select: bidFields });
      await tx.bid.updateMany({ where: others, data: { status: "rejected", updatedAt: now } });
      const rest = task.maxBudgetCents - bid.priceCents;
      if (rest > 0) {
        await tx.wallet.update({
          where: { userId },
          data: { availableCents: { increment: rest }, heldCents: { decrement: rest } },
        });
        await enter(tx, { taskId: task.id, bidId: bid.id }, [
          { userId, kind: "hold_release", bucket: "available", amountCents: rest },
          { userId, kind: "hold_release", bucket: "held", amountCents: -rest },
        ]);
      }
      await tell(tx, "task.awarded", task.id, [userId, found.bidderId], { task, bid });
      for (const loser of lost) {
        await tell(tx, "bid.rejected", task.id, [loser.bidder.id], { task, bid: toBid(loser) });
      }
      return { task, awardedBid: bid };
    }),
  );

export const startUpload = scoped("bid:write")
  .meta({ openapi: { method: "POST", path: "/bids/{id}/delivery/init" } })
  .input(z.object({ id, mimeType: z.string(), bytes: z.number().int().positive(), fileName: z.string().optional() }))
  .output(z.object({ uploadUrl: z.string(), storageKey: z.string() }))
  .mutation(async ({ ctx: { userId }, input: { id: bidId, fileName = null, ...file } }) => {
    const where = { id: bidId, bidderId: userId, awardedTask: { some: { status: "awarded" } } };
    const bid = await prisma.bid.findFirst({ where, select: { id: true } });
    if (bid === null) throw refuse();
    const storageKey = newStorageKey(bidId);
    const data = { ...file, storageKey, bidId, fileName, kind: "delivery" };
    await prisma.upload.create({ data, select: { storageKey: true } });
    return { uploadUrl: await signUpload(storageKey, file), storageKey };
  });

const Delivery = z.object({
  ...{ id, bidId: id, taskId: id, mimeType: z.string(), bytes: z.number(), fileName: z.string().nullable() },
  ...{ createdAt: z.date(), sha256: z.string().nullable(), downloadUrl: z.string() },
});

export const deliver = scoped("bid:write")
  .meta({ openapi: { method: "POST", path: "/bids/{id}/delivery/finalize" } })
  .input(z.object({ id, storageKey: z.string() }))
  .output(z.object({ delivery: Delivery, task: z.object({ acceptanceDeadlineAt: z.date() }) }))
  .mutation(async ({ ctx: { userId }, input: { id: bidId, storageKey } }) => {
    const where = { storageKey, bidId, bid: { bidderId: userId } };
    const upload = await prisma.upload.findFirst({ where, include: { bid: { select: { taskId: true } } } });
    if (upload === null || upload.bid === null) throw refuse();
    const sealed = await seal(storageKey);
    if (sealed.bytes !== upload.bytes) throw refuse();
    const { taskId } = upload.bid;
    const now = new Date();
    const acceptanceDeadlineAt = new Date(now.getTime() + 48 * HOUR_MS);
    const artifact = await prisma.$transaction(async (tx) => {
      const { count } = await tx.task.updateMany({
        where: { id: taskId, awardedBidId: bidId, status: "awarded" },
        data: { status: "delivered", deliveredAt: now, acceptanceDeadlineAt, updatedAt: now },
      });
      if (count === 0) throw refuse();
      const { sha256 } = sealed;
      const created = await tx.artifact.create({
        data: { uploadKey: storageKey, storageKey: sealed.storageKey, bidId, taskId, kind: "delivery", sha256 },
        select: { id: true, createdAt: true },
      });
      const task = toTask(await tx.task.findUniqueOrThrow({ where: { id: taskId }, select: taskFields }));
      const bid = toBid(await tx.bid.findUniqueOrThrow({ where: { id: bidId }, select: bidFields }));
      await tell(tx, "delivery.posted", taskId, [task.buyer.id, userId], { task, bid });
      return created;
    });
    const { mimeType, bytes, fileName } = upload;
    const file = { bidId, taskId, mimeType, bytes, fileName, sha256: sealed.sha256 };
    const delivery = { ...artifact, ...file, downloadUrl: await signDownload(sealed.storageKey) };
    return { delivery, task: { acceptanceDeadlineAt } };
  });

export const accept = scoped("task:write")
  .meta({ openapi: { method: "POST", path: "/tasks/{id}/accept" } })
  .input(z.object({ id }))
  .output(z.object({ task: OwnTask }))
  .mutation(({ ctx: { userId }, input }) =>
    prisma.$transaction(async (tx) => {
      const now = new Date();
      const { count } = await tx.task.updateMany({
        where: { id: input.id, buyerId: userId, status: "delivered" },
        data: { status: "accepted", acceptedBy: "buyer", acceptedAt: now, closedAt: now, updatedAt: now },
      });
      if (count === 0) throw refuse();
      const task = toTask(await tx.task.findUniqueOrThrow({ where: { id: input.id }, select: taskFields }));
      const bid = toBid(await tx.bid.findUniqueOrThrow({ where: { id: task.awardedBidId ?? "" }, select: bidFields }));
      const price = bid.priceCents;
      // In the order of the ids, so that two payments between the same people do not wait for each other.
      const changes = [
        { userId, data: { heldCents: { decrement: price } } },
        { userId: bid.bidder.id, data: { availableCents: { increment: price } } },
      ].sort((a, b) => (a.userId < b.userId ? -1 : 1));
      for (const { userId, data } of changes) await tx.wallet.update({ where: { userId }, data });
      await enter(tx, { taskId: task.id, bidId: bid.id }, [
        { userId, kind: "task_payment", bucket: "held", amountCents: -price },
        { userId: bid.bidder.id, kind: "task_earning", bucket: "available", amountCents: price },
      ]);
      await tell(tx, "task.accepted", task.id, [userId, bid.bidder.id], { task, bid });
      return { task };
    }),
  );
