import { useInfiniteQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { api, isWhole, type Question, type TaskPage } from "../api/client.ts";
import { discardDraft, hasDraft } from "../api/draft.ts";
import { questionsQuery } from "../api/queries.ts";
import { useAction } from "../api/useAction.ts";
import { Badge } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { TextArea } from "../parts/fields.tsx";
import { Form } from "../parts/form.tsx";
import { Pages } from "../parts/list.tsx";
import { LongText } from "../parts/longText.tsx";
import { Section } from "../parts/page.tsx";
import { Person } from "../parts/person.tsx";
import { Time } from "../parts/time.tsx";
import { can } from "./access.ts";
import styles from "./questions.module.css";

interface QuestionsProps {
  page: TaskPage;
  isModerator: boolean;
}

/** What people have asked about a task, newest first, each with the buyer's answer below it. Everybody reads it. */
export function Questions({ page, isModerator }: QuestionsProps) {
  const { task, questionCount } = page;
  const questions = useInfiniteQuery({ ...questionsQuery(task.id), enabled: questionCount > 0 });
  const canAsk = can(page, "tasks.ask");
  return (
    <Section title="Questions" id="questions" lead="Everybody reads them, and the buyer's answers.">
      {canAsk && <Ask taskId={task.id} />}
      {questionCount > 0 && (
        <Pages query={questions} isEmpty={({ pages }) => pages[0]?.questions.length === 0} empty={null}>
          {({ pages }) => (
            <ol className={styles.thread} aria-label="Questions">
              {pages.flatMap((read) =>
                read.questions.map((question) => (
                  <Asked key={question.id} question={question} page={page} isModerator={isModerator} />
                )),
              )}
            </ol>
          )}
        </Pages>
      )}
    </Section>
  );
}

interface InPlaceProps {
  button: string;
  /** The name of the form's draft: a reload opens the form again if there is one. */
  draft: string;
  children: (close: () => void) => ReactNode;
}

/** A button that a form takes the place of, until it is sent or left. */
function InPlace({ button, draft, children }: InPlaceProps) {
  const place = useRef<HTMLDivElement>(null);
  const [state, setState] = useState<"new" | "open" | "left">(hasDraft(draft) ? "open" : "new");
  useEffect(() => {
    if (state === "open") place.current?.querySelector("textarea")?.focus();
    if (state === "left") place.current?.querySelector("button")?.focus();
  }, [state]);
  return (
    <div ref={place}>
      {state === "open" ? (
        children(() => setState("left"))
      ) : (
        <Button size="small" onClick={() => setState("open")}>
          {button}
        </Button>
      )}
    </div>
  );
}

function Leave({ draft, close }: { draft: string; close: () => void }) {
  const leave = () => {
    discardDraft(draft);
    close();
  };
  return (
    <Button look="quiet" onClick={leave}>
      Not now
    </Button>
  );
}

function Ask({ taskId }: { taskId: string }) {
  const draft = `question.${taskId}`;
  return (
    <InPlace button="Ask a question" draft={draft}>
      {(close) => <AskForm taskId={taskId} draft={draft} close={close} />}
    </InPlace>
  );
}

function AskForm({ taskId, draft, close }: { taskId: string; draft: string; close: () => void }) {
  const ask = useAction("tasks.ask", api.tasks.ask.mutate, { draft, onSuccess: close });
  return (
    <Form
      action={ask}
      operation="tasks.ask"
      read={(fields) => ({ id: taskId, text: fields.text("text") })}
      submit="Ask the buyer"
      beside={<Leave draft={draft} close={close} />}
    >
      <TextArea
        name="text"
        label="Your question"
        hint="Everybody sees it, and it cannot be changed afterwards."
        rows={3}
      />
    </Form>
  );
}

interface AskedProps extends QuestionsProps {
  question: Question;
}

function Asked({ question, page, isModerator }: AskedProps) {
  const { asker, text, createdAt, answer } = question;
  if (text === null) {
    return (
      <li className={styles.removed}>
        A moderator removed a question, which was asked <Time at={createdAt} />.
      </li>
    );
  }
  return (
    <li className={styles.question}>
      <header>
        {asker === null ? <b>Somebody</b> : <Person person={asker} />}
        <small>
          <Time at={createdAt} />
        </small>
        {answer === null && <Badge tone="warn">Not answered</Badge>}
        {isModerator && <Remove question={question} />}
      </header>
      <LongText text={text} plain />
      <Answered question={question} page={page} />
    </li>
  );
}

/** The answer, and for the buyer the place to write it. */
function Answered({ question: { id, answer }, page }: { question: Question; page: TaskPage }) {
  const { task } = page;
  const draft = `answer.${id}`;
  if (answer === null && !can(page, "questions.answer")) return null;
  return (
    <div className={styles.answer}>
      {answer !== null && (
        <>
          <header>
            <b>{isWhole(task) ? <bdi>{task.buyer.displayName}</bdi> : "The buyer"}</b>
            <small>
              {isWhole(task) && "the buyer, "}
              <Time at={answer.createdAt} />
              {answer.editedAt !== null && (
                <>
                  , changed <Time at={answer.editedAt} />
                </>
              )}
            </small>
          </header>
          <LongText key={answer.text} text={answer.text} plain />
        </>
      )}
      {can(page, "questions.answer") && (
        <InPlace button={answer === null ? "Answer" : "Change the answer"} draft={draft}>
          {(close) => <AnswerForm id={id} text={answer?.text ?? ""} draft={draft} close={close} />}
        </InPlace>
      )}
    </div>
  );
}

function AnswerForm({ id, text, draft, close }: { id: string; text: string; draft: string; close: () => void }) {
  const answer = useAction("questions.answer", api.questions.answer.mutate, { draft, onSuccess: close });
  return (
    <Form
      action={answer}
      operation="questions.answer"
      read={(fields) => ({ id, text: fields.text("text") })}
      submit="Publish the answer"
      beside={<Leave draft={draft} close={close} />}
    >
      <TextArea
        name="text"
        label="Your answer"
        hint="Everybody sees it. You can change it while the task is open."
        rows={4}
        defaultValue={text}
      />
    </Form>
  );
}

/** For a moderator. */
function Remove({ question }: { question: Question }) {
  const remove = useAction("questions.remove", api.questions.remove.mutate);
  return (
    <span className={styles.remove}>
      <Confirm
        button="Remove"
        size="small"
        look="danger"
        title="Remove this question?"
        confirm="Remove the question"
        action={remove}
        operation="questions.remove"
        read={(fields) => ({ id: question.id, reason: fields.text("reason") })}
      >
        <p>Its words and those of the answer are erased for good. That there was a question stays visible.</p>
        <TextArea name="reason" label="Reason" hint="Moderators see it, and the asker in their export." rows={3} />
      </Confirm>
    </span>
  );
}
