import { type ReactNode, useId, useRef, useState } from "react";
import { createPortal, flushSync } from "react-dom";
import type { Action } from "../api/useAction.ts";
import { Button } from "./button.tsx";
import styles from "./confirm.module.css";
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

/**
 * A button that says what it will do, in a dialog, before it does it. The dialog stays open if it is refused. The browser
 * keeps the focus inside, closes it with Escape and gives the focus back.
 */
export function Confirm<Input, Output>(props: ConfirmProps<Input, Output>) {
  const { button, look = "plain", size, title, children, confirm, action, operation, read, onInput } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const [open, setOpen] = useState(false);
  const titleId = useId();
  const show = () => {
    // Its fields are there before it opens, so that the first one gets the focus.
    flushSync(() => setOpen(true));
    dialog.current?.showModal();
  };
  const close = () => dialog.current?.close();
  return (
    <>
      <Button look={look} size={size} onClick={show}>
        {button}
      </Button>
      {createPortal(
        <dialog
          ref={dialog}
          role="alertdialog"
          aria-labelledby={titleId}
          className={styles.dialog}
          onClose={() => setOpen(false)}
        >
          {open && (
            <>
              <h2 id={titleId} className={styles.title}>
                {title}
              </h2>
              <Form
                action={action}
                operation={operation}
                read={read}
                submit={confirm}
                look={look === "danger" ? "danger" : "primary"}
                onInput={onInput}
                onDone={close}
                beside={
                  <button type="button" className={styles.cancel} onClick={close}>
                    Not now
                  </button>
                }
              >
                <div className={styles.text}>{children}</div>
              </Form>
            </>
          )}
        </dialog>,
        document.body,
      )}
    </>
  );
}
