import { z } from "zod";
import { idOf, PageQuery, Timestamp } from "./common.ts";
import { logEventTypes } from "./event.ts";

/** What a notification is about; people choose for each kind how they are told. Source: docs/contract.md "Notifications". */
export const notificationKinds = ["deadlines", "work", "money", "messages", "account", "marketplace"] as const;
export type NotificationKind = (typeof notificationKinds)[number];

export const Notification = z
  .object({
    id: idOf("notification"),
    type: z
      .enum(logEventTypes)
      .meta({ description: "The type of the event that it is about.", example: "bid.received" }),
    title: z.string().meta({
      description: "One line, with titles and names as they were then.",
      example: "New bid of $85.00 on “Translate two pages”",
    }),
    text: z.string().meta({ description: "One or two sentences more.", example: "Bo would deliver within 24 hours." }),
    url: z.string().meta({
      description: "The page where you can act on it.",
      format: "uri",
      example: "https://rebid.example/app/tasks/019aa1b2-0000-7000-8000-000000000003",
    }),
    event: idOf("event", "The event that it is about."),
    needsAction: z.boolean().meta({ description: "Whether it still waits for you, as of this moment.", example: true }),
    read: z.boolean().meta({ description: "Whether you have marked it as read.", example: false }),
    createdAt: Timestamp.meta({ description: "When you were told." }),
  })
  .meta({ id: "Notification", description: "What you were told about an event." });
export type Notification = z.infer<typeof Notification>;

export const ListNotifications = PageQuery.extend({
  unread: z.boolean().optional().meta({
    description: "With `true`, only those that you have not marked as read.",
    example: true,
  }),
}).meta({ id: "ListNotifications" });
