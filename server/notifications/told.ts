import type { LogEvent, LogEventType } from "../schemas/event.ts";
import type { NotificationKind } from "../schemas/notification.ts";
import type { EventActor } from "../store/outbox.ts";

/** An event of the log, with whom it concerns and who did it. */
export interface Happened {
  event: LogEvent;
  recipients: readonly string[];
  /** Null for the clock, a job or an operator. */
  actor: EventActor | null;
  /** Who is told of each new task. */
  followers: readonly string[];
}

const bidderOf = ({ event: { data } }: Happened) => ("bid" in data ? [data.bid.bidder.id] : []);

/** Of those whom an event concerns, who is told. */
const audiences = {
  buyer: ({ event: { data } }: Happened) => ("task" in data ? [data.task.buyer.id] : []),
  bidder: bidderOf,
  asker: ({ event: { data } }: Happened) => ("question" in data ? [data.question.asker.id] : []),
  /** All but who did it. */
  others: ({ recipients, actor }: Happened) => recipients.filter((id) => id !== actor?.userId),
  everyone: ({ recipients }: Happened) => recipients,
  bidderAndByClockBuyer: (happened: Happened) => (happened.actor === null ? happened.recipients : bidderOf(happened)),
  followers: ({ followers }: Happened) => followers,
} satisfies Record<string, (happened: Happened) => readonly string[]>;

interface Rule {
  kind: NotificationKind;
  to: keyof typeof audiences;
  /** Says less than another event of the same act: told only if that one is not. */
  isMinor?: true;
  /** Whom it concerns did it in a session, and is told all the same, because somebody else may have that session. */
  alsoOwn?: true;
}

/** Who is told what, and as which kind. Source: docs/contract.md "Notifications". */
export const told: Record<LogEventType, Rule> = {
  "task.created": { kind: "marketplace", to: "followers" },
  "task.updated": { kind: "work", to: "others" },
  "task.cancelled": { kind: "work", to: "everyone" },
  "task.awarded": { kind: "work", to: "bidder" },
  "task.accepted": { kind: "money", to: "bidderAndByClockBuyer" },
  "task.changes_requested": { kind: "deadlines", to: "bidder" },
  "task.changes_declined": { kind: "deadlines", to: "buyer", isMinor: true },
  "task.disputed": { kind: "deadlines", to: "others" },
  "task.dispute_resolved": { kind: "money", to: "everyone" },
  "task.expired": { kind: "money", to: "everyone" },
  "task.settled": { kind: "money", to: "everyone", isMinor: true },
  "agreement.proposed": { kind: "deadlines", to: "others" },
  "agreement.ended": { kind: "work", to: "others", isMinor: true },
  "bid.received": { kind: "work", to: "buyer" },
  "bid.updated": { kind: "work", to: "buyer" },
  "bid.withdrawn": { kind: "work", to: "buyer" },
  "bid.rejected": { kind: "work", to: "bidder", isMinor: true },
  "sample.posted": { kind: "work", to: "buyer" },
  "delivery.posted": { kind: "deadlines", to: "buyer" },
  // The bidder sees it at once; the buyer is told of the delivery, and of what follows.
  "delivery.checked": { kind: "work", to: "everyone", isMinor: true },
  "rating.posted": { kind: "work", to: "others" },
  "question.asked": { kind: "work", to: "buyer" },
  "question.answered": { kind: "work", to: "asker" },
  "message.posted": { kind: "messages", to: "others" },
  "topup.credited": { kind: "money", to: "everyone" },
  "topup.reversed": { kind: "money", to: "everyone" },
  "payout.updated": { kind: "money", to: "everyone" },
  "export.ready": { kind: "money", to: "everyone" },
  "approval.requested": { kind: "deadlines", to: "everyone" },
  "approval.decided": { kind: "work", to: "everyone", isMinor: true },
  "key.created": { kind: "account", to: "everyone", alsoOwn: true },
  "password.changed": { kind: "account", to: "everyone", alsoOwn: true },
  "account.suspended": { kind: "account", to: "everyone", alsoOwn: true },
};

/** A notification that somebody is to get. */
export interface Told {
  userId: string;
  kind: NotificationKind;
  isMinor: boolean;
  /** Whether the recipient's own key did it. */
  isOwnKey: boolean;
}

/** The steps of a payout in between are of no use to anybody. */
const payoutNews: readonly string[] = ["paid", "failed", "waiting_funds"];

/** Returns who is told of an event: never who did it in a session, and always whose key did it. */
export function whoIsTold(happened: Happened): Told[] {
  const { event, actor } = happened;
  const { kind, to, isMinor = false, alsoOwn = false } = told[event.type];
  const isNews = event.type !== "payout.updated" || payoutNews.includes(event.data.payout.status);
  const listed = isNews ? audiences[to](happened) : [];
  const ownerOfKey = actor !== null && actor.keyId !== null ? actor.userId : null;
  const inSession = actor !== null && actor.keyId === null ? actor.userId : null;
  const people = new Set(listed.filter((id) => alsoOwn || id !== inSession));
  if (ownerOfKey !== null) people.add(ownerOfKey);
  return [...people].map((userId) => {
    const isOwnKey = userId === ownerOfKey;
    // To whose agent posted it, a new task is work, and none of the market's news.
    return { userId, kind: isOwnKey && kind === "marketplace" ? "work" : kind, isMinor, isOwnKey };
  });
}
