import {
  createContext,
  type FormEvent,
  type ReactNode,
  type RefObject,
  use,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { failureOf } from "../api/client.ts";
import { keepDraft, restoreDraft } from "../api/draft.ts";
import type { Action } from "../api/useAction.ts";
import { Button } from "./button.tsx";
import { FieldReader, type Issue } from "./fieldReader.ts";
import styles from "./form.module.css";
import { Problem } from "./problem.tsx";
import { meaningOf } from "./words.ts";

interface FormState {
  /** The operation that the form is for, such as `tasks.create`: its fields' limits are known by it. */
  operation: string;
  issues: readonly Issue[];
}

export const FormContext = createContext<FormState>({ operation: "", issues: [] });
export const useForm = () => use(FormContext);

/** Whether an issue is about this field: `tags.3` is about `tags`. */
export const isAbout = ({ path }: Issue, name: string | null) => path === name || path.startsWith(`${name}.`);

const withoutStart = (path: string, start: string) => (path.startsWith(start) ? path.slice(start.length) : path);

interface Refusals {
  /** The fields that errors besides `invalid_input` are about, such as `email_taken` about `email`. */
  fieldOfError?: Record<string, string>;
  /** Errors that the page itself shows. */
  handles?: readonly string[];
  /** Where the fields are in the input, such as `forTask.`, if they are not its own. */
  at?: string;
}

interface FormProps<Input, Output> extends Refusals {
  action: Action<Input, Output>;
  operation: string;
  /** Turns the fields into the operation's input. */
  read: (fields: FieldReader) => Input;
  submit: string;
  look?: "primary" | "danger";
  /** Is called whenever a field changes, for a preview of what will happen. */
  onInput?: (fields: FieldReader) => void;
  /** A second button or link beside the first. */
  beside?: ReactNode;
  /** Is called when it is done and everything has been read again. */
  onDone?: () => void;
  children: ReactNode;
}

/** What the form shows as wrong: issues beside their fields, and what no field is about as the problem of the whole. */
function useRefusals(form: RefObject<HTMLFormElement | null>, { fieldOfError = {}, handles = [], at = "" }: Refusals) {
  const [issues, setIssues] = useState<readonly Issue[]>([]);
  const [problem, setProblem] = useState<Error | null>(null);

  useEffect(() => {
    if (issues.length > 0) form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [issues]);

  /** Shows what the service has refused. */
  const fail = (error: Error) => {
    const failure = failureOf(error);
    if (failure && handles.includes(failure.error)) return;
    const about = failure && fieldOfError[failure.error];
    const found: Issue[] = about
      ? [{ path: about, message: meaningOf(failure) }]
      : (failure?.issues ?? []).map(({ path, message }) => ({ path: withoutStart(path, at), message, isRaw: true }));
    const names = [...(form.current?.elements ?? [])].map((element) => element.getAttribute("name"));
    const isShown = (issue: Issue) => names.some((name) => isAbout(issue, name));
    setIssues(found.filter(isShown));
    setProblem(found.length > 0 && found.every(isShown) ? null : error);
  };

  /** Shows what the fields themselves have refused, and forgets the rest. */
  const restart = (found: readonly Issue[]) => {
    setProblem(null);
    setIssues(found);
  };

  /** The person is changing a field: what was wrong with it no longer counts. */
  const forget = (name: string | null) => {
    // An issue about `checks.0` is about all of its fields.
    const concerns = (issue: Issue) => isAbout(issue, name) || name?.startsWith(`${issue.path}.`) === true;
    if (issues.some(concerns)) setIssues(issues.filter((issue) => !concerns(issue)));
  };

  return { issues, problem, fail, restart, forget };
}

/** A form for one operation. Whatever the service refuses is shown beside the field that it is about. */
export function Form<Input, Output>(props: FormProps<Input, Output>) {
  const { action, operation, read, submit, look = "primary", onInput, beside, children } = props;
  const form = useRef<HTMLFormElement>(null);
  const { issues, problem, fail, restart, forget } = useRefusals(form, props);
  const { draft } = action;

  // Before the browser paints: nobody sees an empty field, or types into it, that is about to get its text back.
  useLayoutEffect(() => {
    if (draft === undefined || form.current === null) return;
    restoreDraft(draft, form.current);
    onInput?.(new FieldReader(form.current));
    // Only once: later, the person's own changes count.
  }, []);

  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const fields = new FieldReader(event.currentTarget);
    const input = read(fields);
    restart(fields.issues);
    if (fields.issues.length > 0 || action.isPending) return;
    action.mutate(input, { onError: fail, onSuccess: () => props.onDone?.() });
  };

  const change = (event: FormEvent<HTMLFormElement>) => {
    const { target, currentTarget } = event;
    forget(target instanceof HTMLElement ? target.getAttribute("name") : null);
    if (draft !== undefined) keepDraft(draft, currentTarget);
    onInput?.(new FieldReader(currentTarget));
  };

  return (
    <FormContext value={{ operation, issues }}>
      <form ref={form} className={styles.form} onSubmit={send} onInput={change} noValidate>
        {children}
        {problem && <Problem error={problem} />}
        <div className={styles.buttons}>
          <Button type="submit" look={look} busy={action.isPending} paused={action.isPaused}>
            {submit}
          </Button>
          {beside}
        </div>
      </form>
    </FormContext>
  );
}
