import { AlertDialog } from "@base-ui/react/alert-dialog";
import type { ReactElement, ReactNode } from "react";
import styles from "./dialog.module.css";

interface AskProps {
  /** The button that opens it. */
  trigger: ReactElement<Record<string, unknown>>;
  title: string;
  /** What will happen. */
  children: ReactNode;
  open?: boolean;
  onOpenChange?: (open: boolean) => void;
}

/** Asks before something is done. Its content has the button that does it. */
export function Ask({ trigger, title, children, open, onOpenChange }: AskProps) {
  return (
    <AlertDialog.Root open={open} onOpenChange={onOpenChange}>
      <AlertDialog.Trigger render={trigger} />
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className={styles.backdrop} />
        <AlertDialog.Popup className={styles.popup}>
          <AlertDialog.Title className={styles.title}>{title}</AlertDialog.Title>
          {children}
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}

/** The button that closes a dialog without doing anything. */
export function Cancel({ children = "Not now" }: { children?: ReactNode }) {
  return <AlertDialog.Close className={styles.cancel}>{children}</AlertDialog.Close>;
}
