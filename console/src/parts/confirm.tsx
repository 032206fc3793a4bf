import { type ReactNode, useState } from "react";
import type { Action } from "../api/useAction.ts";
import { Button } from "./button.tsx";
import styles from "./confirm.module.css";
import { Ask, Cancel } from "./dialog.tsx";
import { Form } from "./form.tsx";

interface ConfirmProps<Input, Output> {
  /** The text of the button that asks. */
  button: string;
  look?: "primary" | "plain" | "danger" | "quiet";
  size?: "small";
  title: string;
  /** What will happen, with the money that will move; and fields, if the operation has some. */
  children: ReactNode;
  /** The text of the button that does it. */
  confirm: string;
  action: Action<Input, Output>;
  operation: string;
  read: Parameters<typeof Form<Input, Output>>[0]["read"];
  onInput?: Parameters<typeof Form<Input, Output>>[0]["onInput"];
}

/** A button that says what it will do, in a dialog, before it does it. The dialog stays open if it is refused. */
export function Confirm<Input, Output>(props: ConfirmProps<Input, Output>) {
  const { button, look = "plain", size, title, children, confirm, action, operation, read, onInput } = props;
  const [open, setOpen] = useState(false);
  return (
    <Ask
      trigger={
        <Button look={look} size={size}>
          {button}
        </Button>
      }
      title={title}
      open={open}
      onOpenChange={setOpen}
    >
      <Form
        action={action}
        operation={operation}
        read={read}
        submit={confirm}
        look={look === "danger" ? "danger" : "primary"}
        onInput={onInput}
        onDone={() => setOpen(false)}
        beside={<Cancel />}
      >
        <div className={styles.text}>{children}</div>
      </Form>
    </Ask>
  );
}
