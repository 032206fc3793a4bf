import { createLink, type LinkComponent } from "@tanstack/react-router";
import type { AnchorHTMLAttributes, ButtonHTMLAttributes, Ref } from "react";
import styles from "./button.module.css";

interface Look {
  /** `primary`: the one thing to do here; `plain`: what else can be done; `danger`: what cannot be undone. */
  look?: "primary" | "plain" | "danger" | "quiet";
  size?: "small";
}

const classOf = ({ look = "plain", size }: Look) =>
  [styles.button, styles[look], size && styles[size]].filter(Boolean).join(" ");

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement>, Look {
  /** The work is under way: the button says so and cannot be pressed. */
  busy?: boolean;
  /** The work waits for the network. */
  paused?: boolean;
}

/** A button that does something. */
export function Button({ look, size, busy = false, paused = false, children, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      className={classOf({ look, size })}
      disabled={rest.disabled || busy}
      aria-busy={busy}
    >
      {busy && <span className={styles.spinner} aria-hidden="true" />}
      {paused ? "Waiting for the network…" : children}
    </button>
  );
}

type AnchorProps = AnchorHTMLAttributes<HTMLAnchorElement> & Look & { ref?: Ref<HTMLAnchorElement> };

/** A link that looks like a button: to an address outside the console. */
export function ButtonAnchor({ look, size, children, ...rest }: AnchorProps) {
  return (
    <a {...rest} className={classOf({ look, size })}>
      {children}
    </a>
  );
}

const Created = createLink(ButtonAnchor);

/** A link to a page of the console that looks like a button. */
export const ButtonLink: LinkComponent<typeof ButtonAnchor> = (props) => <Created {...props} />;
