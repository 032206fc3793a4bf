import { type InputHTMLAttributes, type ReactNode, useId, useState } from "react";
import { countCharacters, type Limits, limitsOf } from "../limits.ts";
import type { Issue } from "./fieldReader.ts";
import styles from "./form.module.css";
import { isAbout, useForm } from "./form.tsx";
import { formatMoney, formatNumber } from "./format.ts";
import { wordsOf } from "./words.ts";

interface FieldProps {
  /** The name that the API has for it. */
  name: string;
  label: string;
  /** A sentence below the label. */
  hint?: ReactNode;
  optional?: boolean;
}

interface ControlProps {
  id: string;
  name: string;
  "aria-describedby": string | undefined;
  "aria-invalid": boolean;
  "aria-required": boolean;
}

interface WrapperProps extends FieldProps {
  /** What an issue of the service means here; by default its message says it. */
  explain?: (limits: Limits) => string;
  /** What is shown below the control at its right, such as a count of characters. */
  aside?: ReactNode;
  children: (control: ControlProps, limits: Limits) => ReactNode;
}

/** Label, hint, control and what is wrong with it, connected for screen readers. */
function Field({ name, label, hint, optional = false, explain, aside, children }: WrapperProps) {
  const { operation, issues } = useForm();
  const id = useId();
  const limits = limitsOf(operation, name);
  const about = issues.filter((issue) => isAbout(issue, name));
  const wordsFor = (issue: Issue) => (issue.isRaw && explain ? explain(limits) : wordsOf(issue, label));
  const messages = [...new Set(about.map(wordsFor))];
  const described = [hint && `${id}-hint`, messages.length > 0 && `${id}-problem`].filter(Boolean).join(" ");
  const control = {
    id,
    name,
    "aria-describedby": described || undefined,
    "aria-invalid": messages.length > 0,
    "aria-required": !optional,
  };
  return (
    <div className={styles.field}>
      <label htmlFor={id}>
        {label}
        {optional && <span className={styles.optional}> optional</span>}
      </label>
      {hint && (
        <p id={`${id}-hint`} className={styles.hint}>
          {hint}
        </p>
      )}
      {children(control, limits)}
      {(messages.length > 0 || aside) && (
        <div className={styles.below}>
          <p id={`${id}-problem`} className={styles.problem}>
            {messages.join(" ")}
          </p>
          {aside}
        </div>
      )}
    </div>
  );
}

type NativeProps = Pick<
  InputHTMLAttributes<HTMLInputElement>,
  "type" | "autoComplete" | "inputMode" | "placeholder" | "defaultValue" | "autoFocus" | "spellCheck"
>;

/** One line of text. */
export function TextField({ name, label, hint, optional, ...native }: FieldProps & NativeProps) {
  return (
    <Field {...{ name, label, hint, optional }}>
      {(control) => <input type="text" {...native} {...control} className={styles.control} dir="auto" />}
    </Field>
  );
}

/** A password, which can be made visible. */
export function PasswordField({ autoComplete, ...field }: FieldProps & Pick<NativeProps, "autoComplete">) {
  const [visible, setVisible] = useState(false);
  return (
    <Field {...field}>
      {(control) => (
        <div className={styles.joined}>
          <input
            type={visible ? "text" : "password"}
            autoComplete={autoComplete}
            {...control}
            className={styles.control}
          />
          <button type="button" aria-pressed={visible} onClick={() => setVisible(!visible)}>
            {visible ? "Hide" : "Show"}
            <span className="visually-hidden"> {field.label.toLowerCase()}</span>
          </button>
        </div>
      )}
    </Field>
  );
}

/** One of several values. */
export function SelectField({
  options,
  defaultValue,
  ...field
}: FieldProps & { options: readonly Omit<Option, "hint">[]; defaultValue?: string }) {
  return (
    <Field {...field}>
      {(control) => (
        <select {...control} className={styles.control} defaultValue={defaultValue}>
          {options.map(({ value, label }) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** A text of several lines, with a count of its characters when it comes close to its limit. */
export function TextArea({
  rows = 6,
  defaultValue = "",
  ...field
}: FieldProps & { rows?: number; defaultValue?: string }) {
  const { operation } = useForm();
  const { maxLength } = limitsOf(operation, field.name);
  const [length, setLength] = useState(countCharacters(defaultValue));
  const isClose = maxLength !== undefined && length > maxLength * 0.8;
  return (
    <Field
      {...field}
      aside={
        isClose && (
          <p className={length > maxLength ? styles.over : styles.count}>
            {formatNumber(length)} of {formatNumber(maxLength)} characters
          </p>
        )
      }
    >
      {(control) => (
        <textarea
          {...control}
          className={styles.control}
          rows={rows}
          dir="auto"
          defaultValue={defaultValue}
          onInput={({ currentTarget }) => setLength(countCharacters(currentTarget.value))}
        />
      )}
    </Field>
  );
}

interface MoneyFieldProps extends FieldProps, Pick<NativeProps, "defaultValue" | "autoFocus"> {
  /** The limits in words, where the task has others than the operation. */
  range?: string;
}

/** An amount in dollars. Its limits are named if there is no other hint. */
export function MoneyField({ hint, range, ...field }: MoneyFieldProps) {
  const { operation } = useForm();
  const { defaultValue, autoFocus, ...rest } = field;
  return (
    <Field
      {...rest}
      hint={hint ?? range ?? rangeOf(limitsOf(operation, field.name))}
      explain={(limits) => range ?? rangeOf(limits) ?? "Write an amount in dollars."}
    >
      {(control) => (
        <div className={styles.money}>
          <span aria-hidden="true">$</span>
          <input
            {...control}
            type="text"
            inputMode="decimal"
            autoComplete="off"
            placeholder="0.00"
            defaultValue={defaultValue}
            // biome-ignore lint/a11y/noAutofocus: only where a dialog or page has this one field
            autoFocus={autoFocus}
            className={styles.control}
          />
        </div>
      )}
    </Field>
  );
}

function rangeOf({ minimum, maximum }: Limits): string | undefined {
  // The largest number of the database is no limit that anybody should think about.
  const isReal = maximum !== undefined && maximum < 2_147_483_647;
  if (minimum !== undefined && isReal) return `From ${formatMoney(minimum)} to ${formatMoney(maximum)}.`;
  return minimum === undefined ? undefined : `At least ${formatMoney(minimum)}.`;
}

interface Option {
  value: string;
  label: string;
  hint?: string;
}

interface ChoicesProps extends Omit<FieldProps, "optional"> {
  options: readonly Option[];
  /** One of them, or any number. */
  type?: "radio" | "checkbox";
  chosen?: readonly string[];
}

/** Several options, of which one or any number can be chosen. */
export function Choices({ name, label, hint, options, type = "checkbox", chosen = [] }: ChoicesProps) {
  const { issues } = useForm();
  const id = useId();
  const messages = issues.filter((issue) => isAbout(issue, name)).map((issue) => wordsOf(issue, label));
  return (
    <fieldset className={styles.field} aria-describedby={messages.length > 0 ? `${id}-problem` : undefined}>
      <legend>{label}</legend>
      {hint && <p className={styles.hint}>{hint}</p>}
      <div className={styles.choices}>
        {options.map((option) => (
          <label key={option.value}>
            <input
              type={type}
              name={name}
              value={option.value}
              defaultChecked={chosen.includes(option.value)}
              aria-invalid={messages.length > 0}
            />
            <span>
              {option.label}
              {option.hint && <small>{option.hint}</small>}
            </span>
          </label>
        ))}
      </div>
      {messages.length > 0 && (
        <p id={`${id}-problem`} className={styles.problem}>
          {messages.join(" ")}
        </p>
      )}
    </fieldset>
  );
}
