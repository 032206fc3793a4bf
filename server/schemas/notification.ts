import { z } from "zod";
import { idOf, PageQuery, Timestamp } from "./common.ts";
import { logEventTypes } from "./event.ts";

/** What a notification is about; people choose for each kind how they are told. Source: docs/contract.md "Notifications". */
export const notificationKinds = ["deadlines", "work", "money", "messages", "account", "marketplace"] as const;
export type NotificationKind = (typeof notificationKinds)[number];

/** How somebody is told of a kind by mail. */
export const MailPreference = z.enum(["now", "daily", "off"]).meta({
  id: "MailPreference",
  description: "`now`: a mail for each. `daily`: one mail at 8:00 in your time zone. `off`: none.",
});
export type MailPreference = z.infer<typeof MailPreference>;

const push = z
  .boolean()
  .meta({ description: "Whether your browsers with push show it. The default is true while you have one." });

const Preference = z
  .object({ mail: MailPreference, push })
  .meta({ id: "NotificationPreference", description: "How you are told of a kind of notifications." });
export type Preference = z.infer<typeof Preference>;

const about: Record<NotificationKind, string> = {
  deadlines: "What ends at a time whether you act or not: deliveries, disputes, changes, proposals, and reminders.",
  work: "Bids, awards, samples, questions, ratings and changes of tasks.",
  money: "Acceptances, resolutions, expiries, settlements, top-ups and payouts.",
  messages: "Messages: one mail for each conversation until you read it.",
  account: "New API keys, a new password, a suspension. Its mails cannot be off.",
  marketplace: "New tasks. With `now` also in the inbox; with `daily` in the mail only.",
};

const perKind = <Schema extends z.ZodType>(schemaOf: (kind: NotificationKind) => Schema) =>
  // The keys are all the kinds.
  Object.fromEntries(notificationKinds.map((kind) => [kind, schemaOf(kind)])) as Record<NotificationKind, Schema>;

export const Preferences = z
  .object(perKind((kind) => Preference.meta({ description: about[kind] })))
  .meta({ id: "NotificationPreferences", description: "How you are told, for each kind of notifications." });
export type Preferences = z.infer<typeof Preferences>;

const ChangedPreference = z
  .strictObject({ mail: MailPreference.optional(), push: push.optional() })
  .meta({ id: "ChangedPreference", description: "What to change of how you are told." });

export const UpdatePreferences = z
  .strictObject(perKind((kind) => ChangedPreference.optional().meta({ description: about[kind] })))
  .refine(({ account }) => account?.mail !== "off", {
    path: ["account", "mail"],
    message: "Mails about your account cannot be off.",
  })
  .meta({ id: "UpdateNotificationPreferences" });
export type UpdatePreferences = z.infer<typeof UpdatePreferences>;

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
  unread: z
    .boolean()
    .meta({ description: "With `true`, only those that you have not marked as read.", example: true })
    .optional(),
}).meta({ id: "ListNotifications" });
