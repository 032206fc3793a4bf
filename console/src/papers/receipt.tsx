import { Button } from "../parts/button.tsx";
import styles from "./papers.module.css";
import { ProblemOfFile } from "./problemOfFile.tsx";
import { useTake, type Wanted } from "./take.ts";

/** What a receipt is asked by: one of these. */
export type ReceiptSubject = Pick<Wanted, "taskId" | "topupId" | "payoutId">;

/** Downloads the receipt of a payment. `of` names it for those who do not see what it stands beside. */
export function Receipt({ subject, of }: { subject: ReceiptSubject; of: string }) {
  const take = useTake();
  return (
    <div className={styles.receipt}>
      <Button
        look="quiet"
        size="small"
        aria-label={`Receipt: ${of}`}
        busy={take.isPending}
        paused={take.isPaused}
        onClick={() => take.mutate({ kind: "receipt", format: "pdf", ...subject })}
      >
        Receipt
      </Button>
      <ProblemOfFile take={take} />
    </div>
  );
}
