import { z } from "zod";
import { addMessage, toMessage } from "../../market/conversation/messages.ts";
import { assertWritable, lockTalk } from "../../market/conversation/talk.ts";
import { idOf } from "../../schemas/common.ts";
import { Message, messageInput } from "../../schemas/message.ts";
import { inOrder } from "../../store/connection.ts";
import { assertCallerActive } from "../../store/userLock.ts";
import { scoped } from "../../trpc.ts";

export const send = scoped("message:write")
  .meta({
    rest: { method: "POST", path: "/bids/{id}/messages", status: 201 },
    summary: "Write a message",
    description:
      "Writes a message to the other side of a bid: to the task's buyer as the bidder, or to the bidder as the buyer. It needs " +
      "a text or files, and never changes. The bid must be active or awarded, and the task must not have ended more than 30 " +
      "days ago. While the task is disputed, a moderator's session also writes, to both. 60 messages a minute.",
    errors: ["not_found", "wrong_status"],
    rateGroup: "message",
  })
  .input(
    z
      .strictObject({ id: idOf("bid"), ...messageInput })
      .refine(({ text, fileIds = [] }) => text !== undefined || fileIds.length > 0, {
        message: "Send a text, files, or both.",
      }),
  )
  .output(z.object({ message: Message.meta({ description: "The new message." }) }))
  .mutation(async ({ ctx, input: { id, text = null, fileIds = [] } }) => {
    const { message, files } = await ctx.change(async (tx) => {
      const [talk] = await inOrder(
        () => lockTalk(tx, ctx, id),
        () => assertCallerActive(tx, ctx.userId),
      );
      assertWritable(talk, ctx.clock.now());
      const added = await addMessage(tx, talk, { senderId: ctx.userId, text, fileIds });
      const others = [talk.task.buyerId, talk.bid.bidder.id].filter((userId) => userId !== ctx.userId);
      tx.events.record("message.posted", { message: { ...added.message, fileCount: fileIds.length } }, others);
      return added;
    });
    return { message: await toMessage(ctx, message, files) };
  });
