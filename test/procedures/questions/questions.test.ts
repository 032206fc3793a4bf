import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../../server/store/connection.ts";
import { askedQuestion } from "../../factories/conversation.ts";
import { createModerator } from "../../factories/moderators.ts";
import { createPerson, type TestPerson } from "../../factories/people.ts";
import { placeBid, postTask } from "../../factories/tasks.ts";
import { rest } from "../../setup/client.ts";
import { useService } from "../../setup/testService.ts";

const service = useService();
let buyer: TestPerson;
let asker: TestPerson;
let moderator: TestPerson;

beforeAll(async () => {
  buyer = await createPerson(service, { cents: 1_000_000 });
  asker = await createPerson(service);
  moderator = await createModerator(service);
});

const ask = (person: TestPerson, taskId: string, text = "How many words?") =>
  person.post(`/tasks/${taskId}/questions`, { text });
const answer = (questionId: string, text: string) => buyer.post(`/questions/${questionId}/answer`, { text });
const listOf = async (taskId: string) => (await asker.get(`/tasks/${taskId}/questions`)).body.questions;

test("a question and its answer are for everyone to read, and who asked for those who are signed in", async () => {
  const task = await postTask(buyer);
  const asked = await ask(asker, task.id, "Which Finnish?\nWritten or spoken?");
  expect(asked.status).toBe(201);
  const { question } = asked.body;
  expect(question).toEqual({
    ...{ id: expect.any(String), taskId: task.id, asker: { id: asker.id, displayName: expect.any(String) } },
    ...{ text: "Which Finnish?\nWritten or spoken?", createdAt: expect.stringMatching(/\.\d{6}Z$/) },
    ...{ removedAt: null, answer: null },
  });
  const first = await answer(question.id, "Spoken.");
  expect(first.body.question.answer).toEqual({
    ...{ text: "Spoken.", createdAt: expect.stringMatching(/\.\d{6}Z$/), editedAt: null },
  });
  const { body } = await answer(question.id, "Written.");
  const { createdAt } = first.body.question.answer;
  expect(body.question).toEqual({
    ...question,
    answer: { text: "Written.", createdAt, editedAt: expect.stringMatching(/\.\d{6}Z$/) },
  });
  expect(await listOf(task.id)).toEqual([body.question]);
  const anonymous = (await rest(service.url, "GET", `/tasks/${task.id}/questions`)).body;
  expect(anonymous).toEqual({ questions: [{ ...body.question, asker: null }], nextCursor: null });
  expect((await rest(service.url, "GET", `/tasks/${task.id}`)).body.questionCount).toBe(1);
});

test("an answer reaches the asker and the active bidders, with the first 500 characters of long texts", async () => {
  const { id, taskId } = await askedQuestion(buyer, asker);
  const bidder = await createPerson(service);
  await placeBid(bidder, taskId);
  await answer(id, "x".repeat(5_000));
  for (const person of [asker, bidder]) {
    const { events } = (await person.get("/events?types=question.answered")).body;
    expect(events.at(-1).data.question).toMatchObject({
      ...{ id, asker: { id: asker.id }, text: "How many words?" },
      answer: { text: "x".repeat(500), textTruncated: true },
    });
  }
  expect((await buyer.get("/events?types=question.answered")).body.events).toEqual([]);
});

describe("bounds", () => {
  test("texts have 1 to 2,000 and 1 to 5,000 characters, and anything else changes nothing", async () => {
    const { id, taskId } = await askedQuestion(buyer, asker);
    for (const text of ["", "x".repeat(2_001), null, 1]) {
      const { status, body } = await asker.post(`/tasks/${taskId}/questions`, { text });
      expect([status, body.error, body.issues[0].path]).toEqual([400, "invalid_input", "text"]);
    }
    for (const text of ["", "x".repeat(5_001)]) expect((await answer(id, text)).body.error).toBe("invalid_input");
    expect((await ask(asker, taskId, "🐧".repeat(2_000))).status).toBe(201);
    expect((await answer(id, "🐧".repeat(5_000))).status).toBe(200);
    expect(await listOf(taskId)).toHaveLength(2);
  });

  test("of one asker, 20 questions about one task may wait for an answer, also when all are asked at once", async () => {
    const task = await postTask(buyer);
    const answers = await Promise.all(Array.from({ length: 25 }, () => ask(asker, task.id)));
    const refused = answers.filter(({ status }) => status !== 201);
    expect(refused.map(({ status, body }) => [status, body.error, body.limit])).toEqual(
      Array(5).fill([409, "limit_reached", 20]),
    );
    expect((await ask(buyer, task.id)).body.error).toBe("forbidden");
    expect((await ask(moderator, task.id)).status).toBe(201);
    expect((await ask(asker, (await postTask(buyer)).id)).status).toBe(201);
    const [oldest] = (await listOf(task.id)).slice(-1);
    await answer(oldest.id, "Five hundred.");
    expect((await ask(asker, task.id)).status).toBe(201);
    expect((await ask(asker, task.id)).status).toBe(409);
    expect((await asker.get(`/tasks/${task.id}`)).body.questionCount).toBe(22);
  });
});

test("a walk through the questions loses none and repeats none, newest first", async () => {
  const task = await postTask(buyer);
  for (let count = 0; count < 7; count++) await ask(asker, task.id, `Question ${count}?`);
  const texts: string[] = [];
  for (let cursor = ""; ; ) {
    const { body } = await asker.get(`/tasks/${task.id}/questions?limit=3&cursor=${encodeURIComponent(cursor)}`);
    texts.push(...body.questions.map(({ text }: { text: string }) => text));
    if (body.nextCursor === null) break;
    cursor = body.nextCursor;
  }
  expect(texts).toEqual([6, 5, 4, 3, 2, 1, 0].map((count) => `Question ${count}?`));
});

test("once a task is no longer open, nobody asks or answers, and what was said stays", async () => {
  const { id, taskId } = await askedQuestion(buyer, asker);
  const [late, cancelled] = await Promise.all([answer(id, "Five hundred."), buyer.post(`/tasks/${taskId}/cancel`)]);
  expect(cancelled.status).toBe(200);
  expect([200, 409]).toContain(late.status);
  expect((await ask(asker, taskId)).body.error).toBe("wrong_status");
  expect((await answer(id, "Too late.")).body.error).toBe("wrong_status");
  const expected = late.status === 200 ? { text: "Five hundred." } : null;
  expect(await listOf(taskId)).toMatchObject([{ text: "How many words?", answer: expected }]);
});

describe("a moderator", () => {
  test("erases the words of a question and its answer, once, and the reason is recorded", async () => {
    const { id, taskId } = await askedQuestion(buyer, asker);
    await answer(id, "Five hundred.");
    expect((await moderator.delete(`/questions/${id}`, {})).body.error).toBe("invalid_input");
    expect((await asker.delete(`/questions/${id}`, { reason: "Mine." })).body.error).toBe("forbidden");
    for (const reason of ["Names a person.", "Again."]) {
      expect((await moderator.delete(`/questions/${id}`, { reason })).status).toBe(204);
    }
    const removed = { id, text: null, answer: null, removedAt: expect.stringMatching(/Z$/) };
    expect(await listOf(taskId)).toEqual([expect.objectContaining(removed)]);
    expect((await asker.get(`/tasks/${taskId}`)).body.questionCount).toBe(0);
    expect((await answer(id, "Once more.")).body.error).toBe("wrong_status");
    const { actions } = (await moderator.get("/moderation/actions")).body;
    const recorded = actions.filter(({ questionId }: { questionId: string }) => questionId === id);
    expect(recorded).toEqual([
      expect.objectContaining({
        ...{ action: "remove_question", moderator: expect.objectContaining({ id: moderator.id }) },
        ...{ user: expect.objectContaining({ id: asker.id }), reason: "Names a person." },
      }),
    ]);
    const kept = await service.services.database.query(sql`
      SELECT 1 FROM questions WHERE id = ${id}::uuid AND (text IS NOT NULL OR answer IS NOT NULL)`);
    expect(kept).toEqual([]);
  });
});

test("an export has what one asked and answered; closing the account leaves the words and takes the name", async () => {
  const leaver = await createPerson(service);
  const { id, taskId } = await askedQuestion(buyer, leaver);
  await answer(id, "Five hundred.");
  const shown = [expect.objectContaining({ id, text: "How many words?" })];
  expect((await leaver.get("/auth/export")).body).toMatchObject({ questions: shown, answers: [] });
  const { answers } = (await buyer.get("/auth/export")).body;
  expect(answers).toContainEqual(expect.objectContaining({ id, answer: expect.objectContaining({ editedAt: null }) }));
  expect((await leaver.delete("/auth/me", { password: leaver.password })).status).toBe(204);
  const asked = [{ text: "How many words?", asker: { id: leaver.id, displayName: "Deleted user" } }];
  expect(await listOf(taskId)).toMatchObject(asked);
});
