import type { ReactNode } from "react";
import type { Dispute } from "../api/client.ts";
import { StatusBadge } from "../parts/badge.tsx";
import { LongText } from "../parts/longText.tsx";
import { MoneyPreview } from "../parts/money.tsx";
import { Notice } from "../parts/notice.tsx";
import { Section } from "../parts/page.tsx";
import { Time } from "../parts/time.tsx";

/** How a dispute stands, or was decided; below it, what leads further. */
export function DisputeState({ dispute, children }: { dispute: Dispute; children?: ReactNode }) {
  const { openedBy, reason, status, resolution, buyerCents, bidderCents, note, createdAt } = dispute;
  return (
    <Section
      title={status === "open" ? "This task is disputed" : "The dispute"}
      actions={<StatusBadge status={status === "open" ? "disputed" : "resolved"} />}
      card
    >
      <p>
        Opened by the {openedBy} <Time at={createdAt} />:
      </p>
      <LongText text={reason} />
      {status === "open" ? (
        <Notice kind="warn">A moderator decides. Until then the money stays held.</Notice>
      ) : (
        <>
          <MoneyPreview
            lines={[
              { label: "Returned to the buyer", cents: buyerCents ?? 0 },
              { label: "Paid to the bidder", cents: bidderCents ?? 0 },
            ]}
            note={
              {
                refund: "All of it was returned.",
                release: "All of it was paid.",
                split: "It was divided.",
                settled: "Both sides agreed on this.",
              }[resolution ?? "split"]
            }
          />
          {note !== null && (
            <>
              <h3>The moderator's note</h3>
              <LongText text={note} />
            </>
          )}
        </>
      )}
      {children}
    </Section>
  );
}
