import type { LogEvent, LogEventType } from "../schemas/event.ts";
import { hours, money, quoted, timeFor } from "./format.ts";
import { agreed, answerWords, creditedText, endOf, payoutWords } from "./statusWords.ts";

/** Who reads a notification. */
export interface Reader {
  userId: string;
  /** The label of the reader's own key that did it; null if somebody else or the clock did. */
  keyLabel: string | null;
  /** IANA name; null is UTC. */
  timeZone: string | null;
}

/** What a notification says. Of what users write, it has only titles and names. */
export interface Words {
  title: string;
  text: string;
  /** Of the page in the console. */
  path: string;
}

type EventOf<Type extends LogEventType> = Extract<LogEvent, { type: Type }>;
type Data<Type extends LogEventType> = EventOf<Type>["data"];

interface Phrases<Type extends LogEventType> {
  /** To those whom others, or the clock, tell. */
  title(data: Data<Type>, reader: Reader): string;
  text(data: Data<Type>, reader: Reader): string;
  /** What to do by when, for a subject; left out where nothing is asked. */
  ask?(data: Data<Type>, reader: Reader): string;
  /** Of one's own agent: what it "did". */
  own(data: Data<Type>): string;
}

const isBuyer = (data: { task: { buyer: { id: string } } }, { userId }: Reader) => data.task.buyer.id === userId;
const otherSide = (data: { task: Named; bid: { bidder: Person } }, reader: Reader) =>
  isBuyer(data, reader) ? data.bid.bidder.displayName : data.task.buyer.displayName;
interface Person {
  displayName: string;
}
interface Named {
  title: string;
  buyer: Person & { id: string };
}

const of = (data: { task: { title: string } }) => quoted(data.task.title);

/** What each event is called, to those who are told of it. */
const phrases: { [Type in LogEventType]: Phrases<Type> } = {
  "task.created": {
    title: (data) => `New task: ${of(data)}`,
    text: ({ task }) => `Its budget is up to ${money(task.maxBudgetCents)}.`,
    own: (data) => `posted ${of(data)}, with a budget of ${money(data.task.maxBudgetCents)}`,
  },
  "task.updated": {
    title: (data) => `${of(data)} was changed`,
    text: () => "Look whether your bid still fits: you can change or withdraw it.",
    own: (data) => `changed ${of(data)}`,
  },
  "task.cancelled": {
    title: (data) => `${of(data)} was cancelled`,
    text: (data, reader) =>
      isBuyer(data, reader) ? "The money that was held is back in your wallet." : "Nobody is paid for it.",
    own: (data) => `cancelled ${of(data)}`,
  },
  "task.awarded": {
    title: (data) => `You won ${of(data)} for ${money(data.bid.priceCents)}`,
    text: ({ task }, reader) => `Deliver by ${timeFor(task.deliveryDueAt, reader)}. The money is held for you.`,
    ask: ({ task }, reader) => `deliver by ${timeFor(task.deliveryDueAt, reader)}`,
    own: (data) => `awarded ${of(data)} for ${money(data.bid.priceCents)}`,
  },
  "task.accepted": {
    title: (data, reader) =>
      isBuyer(data, reader)
        ? `${data.task.acceptedBy === "checks" ? "Its checks have passed" : "Your time is over"}: ${of(data)} counts as accepted`
        : `Your delivery of ${of(data)} was accepted`,
    text: (data, reader) =>
      isBuyer(data, reader)
        ? `You paid ${money(data.bid.priceCents)} to ${data.bid.bidder.displayName}.`
        : `The price of ${money(data.bid.priceCents)}, less the fee if there is one, is in your wallet.`,
    own: (data) => `accepted the delivery of ${of(data)} and paid ${money(data.bid.priceCents)}`,
  },
  "task.changes_requested": {
    title: (data) => `Changes to ${of(data)} are asked for`,
    text: ({ task }, reader) =>
      `Deliver them, or decline, by ${timeFor(task.deliveryDueAt, reader)}. Otherwise your earlier delivery stands again.`,
    ask: ({ task }, reader) => `deliver or decline by ${timeFor(task.deliveryDueAt, reader)}`,
    own: (data) => `asked for changes to ${of(data)}`,
  },
  "task.changes_declined": {
    title: (data) => `The earlier delivery of ${of(data)} stands again`,
    text: ({ task }, reader) =>
      `Accept or dispute it by ${timeFor(task.acceptanceDeadlineAt, reader)}. Otherwise the bidder is paid.`,
    ask: ({ task }, reader) => `accept or dispute by ${timeFor(task.acceptanceDeadlineAt, reader)}`,
    own: (data) => `declined the changes to ${of(data)}`,
  },
  "task.disputed": {
    title: (data) => `${of(data)} is disputed`,
    text: (data, reader) =>
      `${otherSide(data, reader)} opened a dispute about ${money(data.bid.priceCents)}, which stay held until a moderator ` +
      "decides or you both settle it.",
    own: (data) => `opened a dispute about ${of(data)}`,
  },
  "task.dispute_resolved": {
    title: (data) => `The dispute about ${of(data)} is over`,
    text: ({ dispute }) =>
      `The bidder's part is ${money(dispute.bidderCents ?? 0)}, and ${money(dispute.buyerCents ?? 0)} went back to the buyer.`,
    own: (data) => `ended the dispute about ${of(data)}`,
  },
  "task.expired": {
    title: (data) => `${of(data)} has expired`,
    text: (data, reader) =>
      isBuyer(data, reader)
        ? `Nothing was delivered, and ${money(data.bid.priceCents)} are back in your wallet.`
        : "Nothing was delivered in time, so you are not paid.",
    own: (data) => `let ${of(data)} expire`,
  },
  "task.settled": {
    title: (data) => `${of(data)} is settled`,
    text: ({ agreement, bid }) =>
      `The bidder's part is ${money(agreement.bidderCents ?? 0)} of ${money(bid.priceCents)}; the rest went back to the buyer.`,
    own: (data) => `settled ${of(data)}`,
  },
  "agreement.proposed": {
    title: (data, reader) => `${otherSide(data, reader)} proposes ${agreed[data.agreement.kind]}: ${of(data)}`,
    text: ({ agreement }, reader) =>
      `${termsOf(agreement, reader)}Answer by ${timeFor(agreement.expiresAt, reader)}. Without an answer, nothing changes.`,
    ask: ({ agreement }, reader) => `answer by ${timeFor(agreement.expiresAt, reader)}`,
    own: (data) => `proposed ${agreed[data.agreement.kind]} for ${of(data)}`,
  },
  "agreement.ended": {
    title: (data) => `The proposal about ${of(data)} was ${endOf(data.agreement.status)}`,
    text: ({ agreement }, reader) =>
      agreement.status === "accepted"
        ? `It holds from now on. ${termsOf(agreement, reader)}`.trim()
        : "Nothing changes.",
    own: (data) => `ended the proposal about ${of(data)}: it was ${endOf(data.agreement.status)}`,
  },
  "bid.received": {
    title: (data) => `New bid of ${money(data.bid.priceCents)} on ${of(data)}`,
    text: ({ bid }) =>
      `${bid.bidder.displayName} would deliver within ${hours(bid.etaHours)}. Award it if it suits you.`,
    ask: () => "award it if it suits you",
    own: (data) => `bid ${money(data.bid.priceCents)} on ${of(data)}`,
  },
  "bid.updated": {
    title: (data) => `A bid on ${of(data)} was changed: ${money(data.bid.priceCents)}`,
    text: ({ bid }) => `${bid.bidder.displayName} would deliver within ${hours(bid.etaHours)}.`,
    own: (data) => `changed its bid on ${of(data)} to ${money(data.bid.priceCents)}`,
  },
  "bid.withdrawn": {
    title: (data) => `A bid on ${of(data)} was withdrawn`,
    text: ({ bid }) => `${bid.bidder.displayName} no longer offers to do it for ${money(bid.priceCents)}.`,
    own: (data) => `withdrew its bid on ${of(data)}`,
  },
  "bid.rejected": {
    title: (data) => `${of(data)} went to somebody else`,
    text: () => "Your bid was not chosen. There is nothing to do.",
    own: (data) => `decided against bids on ${of(data)}`,
  },
  "sample.posted": {
    title: (data) => `A sample for ${of(data)} is there`,
    text: ({ bid }) => `${bid.bidder.displayName} shows work in progress.`,
    own: (data) => `added a sample for ${of(data)}`,
  },
  "delivery.posted": {
    title: (data) => `${of(data)} was delivered`,
    text: (data, reader) =>
      `Accept or dispute it by ${timeFor(data.task.acceptanceDeadlineAt, reader)}. Otherwise it counts as accepted, and you pay ` +
      `${data.bid.bidder.displayName} ${money(data.bid.priceCents)}.`,
    ask: ({ task }, reader) => `accept or dispute by ${timeFor(task.acceptanceDeadlineAt, reader)}`,
    own: (data) => `delivered ${of(data)}`,
  },
  "delivery.checked": {
    title: (data) => `The delivery of ${of(data)} was checked`,
    text: () => "Look at what each check says.",
    own: (data) => `reported a check of ${of(data)}`,
  },
  "rating.posted": {
    title: (data) => `You were rated for ${of(data)}: ${data.rating.stars} of 5 stars`,
    text: () => "The rating is part of your reputation.",
    own: (data) => `rated the other side of ${of(data)} with ${data.rating.stars} of 5 stars`,
  },
  "question.asked": {
    title: (data) => `A question about ${of(data)}`,
    text: ({ question }) => `${question.asker.displayName} asks. Everyone sees your answer.`,
    ask: () => "answer it",
    own: (data) => `asked about ${of(data)}`,
  },
  "question.answered": {
    title: (data) => `Your question about ${of(data)} was answered`,
    text: ({ task }) => `${task.buyer.displayName} answered it.`,
    own: (data) => `answered a question about ${of(data)}`,
  },
  "message.posted": {
    title: ({ message }) => `New message from ${message.sender.displayName}`,
    text: ({ message }) => (message.fileCount > 0 ? "It has files." : "Read it in the conversation."),
    own: () => "wrote a message",
  },
  "topup.credited": {
    title: ({ topup }) => `${money(topup.amountCents)} arrived in your wallet`,
    text: creditedText,
    own: ({ topup }) => `topped up ${money(topup.amountCents)}`,
  },
  "topup.reversed": {
    title: ({ reversal }) =>
      reversal.amountCents < 0
        ? `${money(reversal.amountCents)} were taken back from your wallet`
        : `${money(reversal.amountCents)} were returned to your wallet`,
    text: ({ reversal, topup }) =>
      `A payment of ${money(topup.amountCents)} was ${reversal.kind === "chargeback" ? "disputed at the bank" : "refunded"}.`,
    own: ({ reversal }) => `reversed ${money(reversal.amountCents)}`,
  },
  "payout.updated": {
    title: ({ payout }) => `Payout of ${money(payout.amountCents)}: ${payoutWords[payout.status].title}`,
    text: ({ payout }) => payoutWords[payout.status].text,
    own: ({ payout }) => `has a payout of ${money(payout.amountCents)}: ${payoutWords[payout.status].title}`,
  },
  "export.ready": {
    title: (data) => `Your file is ready: ${data.export.fileName}`,
    text: (data, reader) => `Download it by ${timeFor(data.export.expiresAt, reader)}. After that it is deleted.`,
    own: (data) => `asked for ${data.export.fileName}`,
  },
  "approval.requested": {
    title: ({ approval }) => `Your agent asks for your approval of ${money(approval.amountCents)}`,
    text: ({ approval }, reader) =>
      `${approval.summary} Answer by ${timeFor(approval.expiresAt, reader)}. Without an answer, nothing happens.`,
    ask: ({ approval }, reader) => `answer by ${timeFor(approval.expiresAt, reader)}`,
    own: ({ approval }) => `asks for your approval of ${money(approval.amountCents)}`,
  },
  "approval.decided": {
    title: ({ approval }) => `${answerWords[approval.status]}: ${approval.summary}`,
    text: ({ approval }) => (approval.status === "approved" ? "It was done." : "Nothing was done."),
    own: ({ approval }) => `did what you approved: ${approval.summary}`,
  },
  "key.created": {
    title: ({ key }) => `A new API key: ${quoted(key.label)}`,
    text: () => "If it was not you, revoke it and change your password.",
    own: ({ key }) => `created the API key ${quoted(key.label)}`,
  },
  "password.changed": {
    title: () => "Your password was changed",
    text: () => "If it was not you, choose a new one at once with “Forgot your password?”.",
    own: () => "changed your password",
  },
  "account.suspended": {
    title: () => "Your account is suspended",
    text: () => "You cannot sign in. Your open tasks and bids end; what was awarded goes on. Ask the operator why.",
    own: () => "was suspended",
  },
};

function termsOf(agreement: Data<"agreement.ended">["agreement"], reader: Reader): string {
  if (agreement.kind === "extend") return `The delivery would be due by ${timeFor(agreement.deliveryDueAt, reader)}. `;
  if (agreement.kind === "settle") return `The bidder's part would be ${money(agreement.bidderCents ?? 0)}. `;
  return "";
}

function pathOf({ data }: LogEvent): string {
  if ("task" in data) return `/app/tasks/${data.task.id}`;
  if ("message" in data) return `/app/messages/${data.message.bidId}`;
  if ("payout" in data) return "/app/wallet/payouts";
  if ("export" in data) return data.export.kind === "account" ? "/app/account" : "/app/wallet";
  if ("taskId" in data && data.taskId !== undefined) return `/app/tasks/${data.taskId}`;
  if ("topup" in data) return "/app/wallet";
  if ("approval" in data) return `/app/approvals/${data.approval.id}`;
  return "key" in data ? "/app/keys" : "/app/account";
}

/** What to do by when; null where nothing is asked. */
export function askOf(event: LogEvent, reader: Reader): string | null {
  const { ask } = phrases[event.type] as unknown as Phrases<LogEventType>; // as in `wordsOf`
  return reader.keyLabel === null && ask !== undefined ? ask(event.data, reader) : null;
}

/** Says what happened, to this reader. */
export function wordsOf(event: LogEvent, reader: Reader): Words {
  // The table has the phrases of this event's own type; the compiler cannot follow a union through it.
  const { title, text, own } = phrases[event.type] as unknown as Phrases<LogEventType>;
  const path = pathOf(event);
  if (reader.keyLabel === null) return { title: title(event.data, reader), text: text(event.data, reader), path };
  return { title: `Your agent ${quoted(reader.keyLabel)} ${own(event.data)}`, text: "It used your API key.", path };
}
