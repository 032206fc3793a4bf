import type { LogEvent } from "../schemas/event.ts";
import type { NotificationKind } from "../schemas/notification.ts";
import { aboutKind, type Content } from "./compose.ts";
import type { MailedNotification, MailedNotifications } from "./mailed.ts";
import { askOf, wordsOf } from "./words.ts";

/** What the button of a mail about one event says. */
function labelOf({ data }: LogEvent): string {
  if ("task" in data) return "Open the task";
  if ("message" in data) return "Read the message";
  if ("payout" in data || "topup" in data) return "Open your wallet";
  return "key" in data ? "See your API keys" : "Open your account";
}

/** Why a mail about one event came. */
function whyOf({ event, userId, kind }: MailedNotification): string {
  const { data } = event;
  const role =
    "task" in data
      ? data.task.buyer.id === userId
        ? "this task is yours"
        : event.type === "task.created"
          ? "you follow new tasks"
          : "you take part in this task"
      : "message" in data
        ? "you are in this conversation"
        : "it is about your account";
  return `You get this mail because ${role}, and mails about ${aboutKind[kind]} come at once. It is also in your inbox on Rebid.`;
}

/** A mail about one notification, or about those that were too many for an hour. */
export function newsContent(notifications: MailedNotifications, publicUrl: string): Content {
  const [one, ...others] = notifications.named;
  if (one === undefined) throw new Error("a mail without news");
  if (others.length > 0) return manyContent(notifications, publicUrl);
  const { title, text, path } = wordsOf(one.event, one);
  const ask = askOf(one.event, one);
  return {
    subject: ask === null ? title : `${title}: ${ask}`,
    heading: title,
    paragraphs: [text],
    items: [],
    button: { label: labelOf(one.event), url: `${publicUrl}${path}` },
    why: whyOf(one),
    stops: [one.kind],
  };
}

function manyContent({ named, more }: MailedNotifications, publicUrl: string): Content {
  const kinds = new Set<NotificationKind>(named.map(({ kind }) => kind));
  const heading = `${named.length + more} more notifications`;
  return {
    subject: heading,
    heading,
    paragraphs: ["Much happened within an hour, so the rest comes in one mail.", ...wordsOfMore(more)],
    items: named.map((one) => itemOf(one, publicUrl)),
    button: { label: "Open your inbox", url: `${publicUrl}/app/notifications` },
    why: "You get this mail because these concern you, and mails about them come at once, but at most six in an hour.",
    stops: [...kinds],
  };
}

/** Where those are that a mail does not name. */
export const wordsOfMore = (more: number): string[] => (more === 0 ? [] : [`Your inbox has ${more} more.`]);

/** A notification among others. */
export function itemOf(notification: MailedNotification, publicUrl: string): Content["items"][number] {
  const { title, text, path } = wordsOf(notification.event, notification);
  return { title, text, url: `${publicUrl}${path}` };
}
