import { z } from "zod";
import { exampleIds, Id, idOf, Person, Timestamp, text } from "./common.ts";
import { MessageFile } from "./file.ts";
import { TaskListItem } from "./task.ts";

const MessageRole = z.enum(["buyer", "bidder", "moderator"]).meta({
  id: "MessageRole",
  description: "As what the sender wrote. A moderator writes only while the task is disputed.",
});
export type MessageRole = z.infer<typeof MessageRole>;

/** Source: docs/contract.md "Messages". */
export const Message = z
  .object({
    id: idOf("message"),
    bidId: idOf("bid", "The bid whose conversation the message is in."),
    taskId: idOf("task", "The task that the bid is for."),
    sender: Person.meta({ description: "Who wrote it." }),
    role: MessageRole,
    text: z
      .string()
      .nullable()
      .meta({ description: "What it says; null if it has only files.", example: "Here is page one." }),
    files: z.array(MessageFile).meta({ description: "Its files, oldest first." }),
    createdAt: Timestamp.meta({ description: "When it was written." }),
  })
  .meta({ id: "Message", description: "A message in a bid's conversation. It never changes." });
export type Message = z.infer<typeof Message>;

/** What a message is made of. */
export const messageInput = {
  text: text(1, 5_000)
    .optional()
    .meta({ description: "What you say. Needed if there are no files.", example: "Here is page one." }),
  fileIds: z
    .array(Id)
    .max(10)
    .optional()
    .meta({
      description: "Files that you have uploaded for this conversation, and that are in no message yet.",
      example: [exampleIds.file],
    }),
} as const;

/** A conversation as its list shows it. */
export const Conversation = z
  .object({
    bidId: idOf("bid", "The bid that it belongs to."),
    task: TaskListItem.pick({ id: true, title: true, status: true }).meta({
      id: "ConversationTask",
      description: "The task that the bid is for.",
    }),
    with: Person.meta({ description: "The other side." }),
    lastMessage: z
      .object({
        text: Message.shape.text,
        textTruncated: z
          .literal(true)
          .optional()
          .meta({ description: "Present, and true, if `text` has only the first 500 characters." }),
        senderId: idOf("user", "Who wrote it."),
        createdAt: Message.shape.createdAt,
        fileCount: z.int32().meta({ description: "How many files it has.", example: 0 }),
      })
      .meta({ id: "LastMessage", description: "The newest message: of its text, the first 500 characters." }),
    unreadCount: z
      .int32()
      .meta({ description: "Messages of others after the last one that you have read.", example: 0 }),
    updatedAt: Timestamp.meta({ description: "When the newest message was written." }),
  })
  .meta({ id: "Conversation", description: "A conversation of yours." });
export type Conversation = z.infer<typeof Conversation>;
