import { useSuspenseQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, Suspense, useId } from "react";
import { keysQuery } from "../api/queries.ts";
import { SelectField, TextArea, TextField } from "../parts/fields.tsx";
import formStyles from "../parts/form.module.css";
import { useForm } from "../parts/form.tsx";
import { Notice } from "../parts/notice.tsx";
import styles from "./checks.module.css";
import { OTHER_TYPE, type Row, type Wish } from "./rows.ts";
import { fileTypes, isTakenAtItsWord } from "./words.ts";

interface CheckFieldsProps {
  row: Row;
  /** Where the API has the check, such as `checks.0`. */
  path: string;
}

/** The field beside which stands what is wrong with the whole check. */
export const firstFieldOf = (wish: Wish): string =>
  ({
    ...{
      type: "types",
      size: "maxBytes",
      text: "minCharacters",
      pattern: "matches",
      json_schema: "schema",
      csv: "columns",
    },
    ...{ image: "minWidth", archive: "paths", sha256: "sha256", external: "keyId" },
  })[wish];

interface OnlyField {
  name: string;
  label: string;
  hint: string;
  /** Of several lines. */
  isLong?: true;
}

/** The checks that one text says everything about. */
const onlyFields: Partial<Record<Wish, OnlyField>> = {
  pattern: {
    ...{ name: "matches", label: "Pattern" },
    hint: "A regular expression (RE2) that must match somewhere in the text, such as (?m)^# for a heading.",
  },
  json_schema: {
    ...{ name: "schema", label: "JSON Schema", isLong: true },
    hint: "Of 2020-12, without references to other addresses.",
  },
  archive: {
    ...{ name: "paths", label: "Files in the zip", isLong: true },
    hint: "Their names with their folders, such as src/main.ts, one in a line.",
  },
  sha256: {
    ...{ name: "sha256", label: "SHA-256" },
    hint: "64 hexadecimal digits. Only a file with exactly these bytes has it.",
  },
};

/** What one kind of check asks for. */
export function CheckFields({ row, path }: CheckFieldsProps): ReactNode {
  const { wish, values } = row;
  const only = onlyFields[wish];
  if (only !== undefined) {
    const { name, label, hint, isLong } = only;
    const field = { name: `${path}.${name}`, label, hint, defaultValue: values[name] };
    return isLong ? <TextArea rows={4} {...field} /> : <TextField autoComplete="off" spellCheck={false} {...field} />;
  }
  const bounds = (of: BoundsProps["of"]) => <Bounds path={path} values={values} of={of} />;
  switch (wish) {
    case "type":
      return <TypeFields row={row} path={path} />;
    case "size":
      return bounds({ maxBytes: "At most, in MB", minBytes: "At least, in MB" });
    case "text":
      return <LengthFields row={row} path={path} />;
    case "csv":
      return (
        <>
          <TextArea
            name={`${path}.columns`}
            label="Columns"
            hint="The names in the first row, in this order, one in a line."
            optional
            rows={4}
            defaultValue={values.columns}
          />
          {bounds({ minRows: "At least, rows", maxRows: "At most, rows" })}
        </>
      );
    case "image":
      return bounds({
        ...{ minWidth: "At least, pixels wide", minHeight: "At least, pixels high" },
        ...{ maxWidth: "At most, pixels wide", maxHeight: "At most, pixels high" },
      });
    default:
      return (
        <Suspense>
          <ExternalFields row={row} path={path} />
        </Suspense>
      );
  }
}

/** How long a text is, and what occurs in it. */
function LengthFields({ row: { values }, path }: CheckFieldsProps) {
  return (
    <>
      <Bounds {...{ path, values }} of={{ minWords: "At least, words", maxWords: "At most, words" }} />
      <Bounds
        {...{ path, values }}
        of={{ minCharacters: "At least, characters", maxCharacters: "At most, characters" }}
      />
      <TextArea
        name={`${path}.contains`}
        label="It contains"
        hint="Texts that must occur, letter by letter, one in a line."
        optional
        rows={3}
        defaultValue={values.contains}
      />
      {values.matches !== undefined && <input type="hidden" name={`${path}.matches`} value={values.matches} />}
    </>
  );
}

interface BoundsProps extends Pick<Row, "values"> {
  path: string;
  /** Labels by fields. */
  of: Readonly<Record<string, string>>;
}

/** Numbers of which at least one is filled in. */
function Bounds({ path, values, of }: BoundsProps) {
  return (
    <div className={styles.bounds}>
      {Object.entries(of).map(([name, label]) => (
        <TextField
          key={name}
          name={`${path}.${name}`}
          label={label}
          optional
          inputMode="decimal"
          autoComplete="off"
          defaultValue={values[name]}
        />
      ))}
    </div>
  );
}

function TypeFields({ row: { values }, path }: CheckFieldsProps) {
  const id = useId();
  const { type = OTHER_TYPE, types = "" } = values;
  const chosen = type === OTHER_TYPE ? types.split(",") : type.split(",");
  return (
    <>
      <div className={formStyles.field}>
        <label htmlFor={id}>Kind of file</label>
        <select id={id} name={`${path}.type`} className={formStyles.control} defaultValue={type}>
          {fileTypes.map((each) => (
            <option key={each.label} value={each.types.join()}>
              {each.label}
            </option>
          ))}
          <option value={OTHER_TYPE}>Something else</option>
        </select>
      </div>
      {type === OTHER_TYPE && (
        <TextField
          name={`${path}.types`}
          label="MIME types"
          hint="With commas between them, such as image/webp, image/gif. The file must be one of these."
          autoComplete="off"
          spellCheck={false}
          defaultValue={types}
        />
      )}
      {isTakenAtItsWord(chosen.map((each) => each.trim())) && (
        <p className={formStyles.hint}>
          Text does not say of what kind it is, so any text counts as what its bidder says. To be sure, add a check of
          what is in it.
        </p>
      )}
    </>
  );
}

/** The key of the buyer's program, and whether bidders learn its reasons. */
function ExternalFields({ row: { values }, path }: CheckFieldsProps) {
  const { issues } = useForm();
  const { data } = useSuspenseQuery(keysQuery);
  const keys = data.keys.filter(({ kind, scopes }) => kind === "key" && scopes.includes("check:write"));
  const isMissed = issues.some((issue) => issue.path === `${path}.keyId`);
  return (
    <>
      {keys.length === 0 ? (
        <Notice kind={isMissed ? "bad" : "warn"} alert={isMissed}>
          You have no key with the permission <code>check:write</code>. <Link to="/keys">Create one</Link>: choose
          “Something else”, then <code>check:write</code>. Your text stays here.
          <input type="hidden" name={`${path}.keyId`} value="" />
        </Notice>
      ) : (
        <SelectField
          name={`${path}.keyId`}
          label="The key that reports"
          hint="Your program gets each delivery, and reports with this key. Only you see which one it is."
          options={keys.map(({ id, label, last4 }) => ({ value: id, label: `${label} (…${last4})` }))}
          defaultValue={values.keyId ?? keys[0]?.id}
        />
      )}
      <div className={formStyles.choices}>
        <label>
          <input type="checkbox" name={`${path}.hidden`} defaultChecked={values.hidden === "on"} />
          <span>
            Hide the reasons until the task has ended{" "}
            <small>Bidders see that there is this check, and whether it passed.</small>
          </span>
        </label>
      </div>
    </>
  );
}
