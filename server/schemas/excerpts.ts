import { z } from "zod";
import { Agreement } from "./agreement.ts";
import { Bid } from "./bid.ts";
import { CheckResult } from "./checkResult.ts";
import { Person, Price } from "./common.ts";
import { Dispute } from "./dispute.ts";
import { Message } from "./message.ts";
import { Answer, Question } from "./question.ts";
import { Task, TaskListItem } from "./task.ts";

/**
 * The length, in code points, to which lists and events shorten the long texts of a record, so that a page and a stored
 * event stay small. The record itself has the whole text. Source: docs/contract.md "Records".
 */
export const EXCERPT_CHARACTERS = 500;

/** The flag beside a text: true if the text was shortened, absent otherwise. */
export const truncated = (field: string) =>
  z
    .literal(true)
    .optional()
    .meta({ description: `Present, and true, if \`${field}\` has only the first ${EXCERPT_CHARACTERS} characters.` });

/** A bid as lists, a task's detail and events show it. */
export const BidExcerpt = Bid.extend({ notesTruncated: truncated("notes") }).meta({
  id: "BidExcerpt",
  description: `A bid as lists and events show it: of its notes, the first ${EXCERPT_CHARACTERS} characters.`,
});
export type BidExcerpt = z.infer<typeof BidExcerpt>;

/** A dispute as lists and events show it. */
export const DisputeExcerpt = Dispute.extend({
  reasonTruncated: truncated("reason"),
  noteTruncated: truncated("note"),
}).meta({
  id: "DisputeExcerpt",
  description: `A dispute as lists and events show it: of its texts, the first ${EXCERPT_CHARACTERS} characters.`,
});
export type DisputeExcerpt = z.infer<typeof DisputeExcerpt>;

/**
 * A dispute as `GET /disputes` shows it, with what tells the cases apart. Tags are left out because they can be 3 kB a
 * task, and would make a page of 100 larger than 1 MB.
 */
export const DisputeListItem = DisputeExcerpt.extend({
  task: TaskListItem.omit({ tags: true }).meta({ id: "DisputedTask", description: "The task, without its tags." }),
  buyer: Person.meta({ description: "Who posted the task." }),
  bidder: Person.meta({ description: "Who delivered." }),
  priceCents: Price.meta({
    example: 8_500,
    description: "Integer cents: the price of the awarded bid, which the dispute is about.",
  }),
}).meta({ id: "DisputeListItem", description: "A dispute as lists show it, with what tells the cases apart." });
export type DisputeListItem = z.infer<typeof DisputeListItem>;

/** An agreement as events show it. */
export const AgreementExcerpt = Agreement.extend({ reasonTruncated: truncated("reason") }).meta({
  id: "AgreementExcerpt",
  description: `An agreement as events show it: of its reason, the first ${EXCERPT_CHARACTERS} characters.`,
});

/** What a check came to, as events show it. */
export const CheckResultExcerpt = CheckResult.extend({ summaryTruncated: truncated("summary") }).meta({
  id: "CheckResultExcerpt",
  description: `What a check came to, as events show it: of its summary, the first ${EXCERPT_CHARACTERS} characters.`,
});

export function excerptOfCheck(check: CheckResult): z.infer<typeof CheckResultExcerpt> {
  const summary = check.summary && shorten(check.summary);
  return { ...check, summary, ...(summary !== check.summary && { summaryTruncated: true as const }) };
}

/** A task as events show it. */
export const TaskExcerpt = Task.omit({ changes: true, checks: true, acceptsAt: true })
  .extend({
    descriptionTruncated: truncated("description"),
    acceptanceCriteriaTruncated: truncated("acceptanceCriteria"),
  })
  .meta({
    id: "TaskExcerpt",
    description: `A task as events show it: of its texts, the first ${EXCERPT_CHARACTERS} characters.`,
  });
export type TaskExcerpt = z.infer<typeof TaskExcerpt>;

/** A question as events show it. */
export const QuestionExcerpt = Question.extend({
  asker: Person.meta({ description: "Who asked." }),
  textTruncated: truncated("text"),
  answer: Answer.extend({ textTruncated: truncated("text") })
    .meta({
      id: "AnswerExcerpt",
      description: `An answer as events show it: the first ${EXCERPT_CHARACTERS} characters.`,
    })
    .nullable()
    .meta({ description: "Null until the buyer answers." }),
}).meta({
  id: "QuestionExcerpt",
  description: `A question as events show it: of its texts, the first ${EXCERPT_CHARACTERS} characters.`,
});
export type QuestionExcerpt = z.infer<typeof QuestionExcerpt>;

/** A message as events show it. */
export const MessageExcerpt = Message.omit({ files: true })
  .extend({
    textTruncated: truncated("text"),
    fileCount: z.int32().meta({ description: "How many files it has.", example: 0 }),
  })
  .meta({
    id: "MessageExcerpt",
    description: `A message as events show it: the first ${EXCERPT_CHARACTERS} characters.`,
  });
export type MessageExcerpt = z.infer<typeof MessageExcerpt>;

/** Shortens the field `reason`, which some records and events have. */
export function withShortReason<Data extends { reason?: string | null }>(
  data: Data,
): Data & { reasonTruncated?: true } {
  if (typeof data.reason !== "string") return data;
  const reason = shorten(data.reason);
  return reason === data.reason ? data : { ...data, reason, reasonTruncated: true };
}

/** Shortens a text as Postgres' `left` does, by code points. */
function shorten(text: string): string {
  if (text.length <= EXCERPT_CHARACTERS) return text;
  // A code point has at most two UTF-16 code units, so the slice has enough of them. If it ends inside a pair, it has more
  // than enough, and the half is dropped.
  return [...text.slice(0, 2 * EXCERPT_CHARACTERS)].slice(0, EXCERPT_CHARACTERS).join("");
}

/** Without the fee, which lists add for the bid's owner: an event has one body for everyone. */
export function excerptOfBid({ feeCents: _, netCents: __, ...bid }: Bid): BidExcerpt {
  const notes = bid.notes && shorten(bid.notes);
  return { ...bid, notes, ...(notes !== bid.notes && { notesTruncated: true as const }) };
}

export function excerptOfDispute(dispute: Dispute): DisputeExcerpt {
  const reason = shorten(dispute.reason);
  const note = dispute.note && shorten(dispute.note);
  return {
    ...{ ...dispute, reason, note },
    ...(reason !== dispute.reason && { reasonTruncated: true as const }),
    ...(note !== dispute.note && { noteTruncated: true as const }),
  };
}

export function excerptOfMessage(message: Omit<MessageExcerpt, "textTruncated">): MessageExcerpt {
  return { ...message, ...excerptOf(message.text) };
}

/** Returns a text that may be missing as lists and events have it, with its flag. */
export function excerptOf(whole: string | null): { text: string | null; textTruncated?: true } {
  const text = whole && shorten(whole);
  return { text, ...(text !== whole && { textTruncated: true }) };
}

/** For a question with its asker, which only anonymous callers do not see. */
export function excerptOfQuestion({ asker, ...question }: Question): QuestionExcerpt {
  if (asker === null) throw new Error(`question ${question.id} has no asker`);
  const text = question.text && shorten(question.text);
  const answer = question.answer && { ...question.answer, text: shorten(question.answer.text) };
  return {
    ...{ ...question, asker, text },
    ...(text !== question.text && { textTruncated: true as const }),
    answer: answer && { ...answer, ...(answer.text !== question.answer?.text && { textTruncated: true as const }) },
  };
}

export function excerptOfTask({
  changes: _,
  checks: __,
  acceptsAt: ___,
  ...task
}: Omit<Task, "checks"> & Partial<Pick<Task, "checks">>): TaskExcerpt {
  const description = shorten(task.description);
  const acceptanceCriteria = task.acceptanceCriteria && shorten(task.acceptanceCriteria);
  return {
    ...{ ...task, description, acceptanceCriteria },
    ...(description !== task.description && { descriptionTruncated: true as const }),
    ...(acceptanceCriteria !== task.acceptanceCriteria && { acceptanceCriteriaTruncated: true as const }),
  };
}
