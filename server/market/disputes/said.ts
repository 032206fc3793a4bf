import type { Bid } from "../../schemas/bid.ts";
import type { Statement } from "../../schemas/dispute.ts";
import type { Services } from "../../services.ts";
import { sql } from "../../store/connection.ts";
import { type MessageRow, messageColumns, readFiles, toMessage } from "../conversation/messages.ts";
import { type QuestionRow, questionColumns, questionOf } from "../conversation/questions.ts";
import type { TaskRecord } from "../tasks/records.ts";

/** Of questions, and of messages: the newest ones. Their own lists have all. */
const MAX_EACH = 100;

type Subject = { task: TaskRecord; bid: Bid };

/**
 * Returns what was said about a disputed task, in order of time: the questions with their answers, and the messages of the awarded
 * bid's conversation if the reader may see it.
 */
export async function readSaid(
  services: Pick<Services, "database" | "storage">,
  subject: Subject,
  seesMessages: boolean,
): Promise<Statement[]> {
  const [asked, messages] = await Promise.all([
    readAsked(services, subject),
    seesMessages ? readMessages(services, subject) : [],
  ]);
  // All times are printed in one form, so their order is that of the texts.
  return [...asked, ...messages].sort((a, b) => (a.createdAt < b.createdAt ? -1 : 1));
}

async function readAsked({ database }: Pick<Services, "database">, { task, bid }: Subject): Promise<Statement[]> {
  const rows = await database.query<QuestionRow>(sql`
    SELECT ${questionColumns} FROM questions q
    WHERE q.task_id = ${task.id}::uuid ORDER BY q.created_at DESC LIMIT ${MAX_EACH}`);
  return rows.map(questionOf).flatMap(({ id, asker, text, createdAt, answer }) => {
    const role = asker.id === bid.bidder.id ? ("bidder" as const) : ("visitor" as const);
    const question = { kind: "question" as const, id, by: asker, role, text, files: [], createdAt };
    if (answer === null) return [question];
    return [question, { ...question, ...answer, kind: "answer" as const, by: task.buyer, role: "buyer" as const }];
  });
}

async function readMessages(services: Pick<Services, "database" | "storage">, { bid }: Subject): Promise<Statement[]> {
  const { database } = services;
  const rows = await database.query<MessageRow>(sql`
    SELECT ${messageColumns} FROM messages m
    WHERE m.bid_id = ${bid.id}::uuid ORDER BY m.created_at DESC LIMIT ${MAX_EACH}`);
  const files = await readFiles(database, rows);
  const messages = await Promise.all(rows.map((row) => toMessage(services, row, files)));
  return messages.map(({ id, sender, role, text, files, createdAt }) => ({
    ...{ kind: "message" as const, id, by: sender, role, text, files, createdAt },
  }));
}
