import { useState } from "react";
import { api, type Dispute } from "../../api/client.ts";
import { useAction } from "../../api/useAction.ts";
import { Confirm } from "../../parts/confirm.tsx";
import { TextArea } from "../../parts/fields.tsx";
import { formatMoney } from "../../parts/format.ts";
import { Money, MoneyPreview } from "../../parts/money.tsx";
import { Section } from "../../parts/page.tsx";
import styles from "./moderation.module.css";

interface DecideProps {
  dispute: Dispute;
  priceCents: number;
  buyer: { displayName: string };
  bidder: { displayName: string };
}

/** One slider for all three decisions: everything to one side, to the other, or some to each. */
export function Decide(props: DecideProps) {
  const { priceCents, buyer, bidder } = props;
  const [bidderCents, setBidderCents] = useState(Math.round(priceCents / 2));
  const buyerCents = priceCents - bidderCents;
  return (
    <Section title="Your decision" lead="It is final, and both sides see it with your note." card>
      <div className={styles.split}>
        <div className={styles.shares}>
          <div>
            <span>
              Back to <bdi>{buyer.displayName}</bdi>, the buyer
            </span>
            <strong>
              <Money cents={buyerCents} />
            </strong>
          </div>
          <div>
            <span>
              To <bdi>{bidder.displayName}</bdi>, the bidder
            </span>
            <strong>
              <Money cents={bidderCents} />
            </strong>
          </div>
        </div>
        <input
          type="range"
          className={styles.slider}
          value={bidderCents}
          onChange={({ target }) => setBidderCents(target.valueAsNumber)}
          min={0}
          max={priceCents}
          step={1}
          aria-label="The bidder's share"
          aria-valuetext={`${formatMoney(bidderCents)} to the bidder, ${formatMoney(buyerCents)} back to the buyer`}
        />
        <div className={styles.actions}>
          <Resolve {...props} bidderCents={bidderCents} />
        </div>
      </div>
    </Section>
  );
}

/** Says in words what the slider stands for, and does it. */
function Resolve({ dispute, priceCents, buyer, bidder, bidderCents }: DecideProps & { bidderCents: number }) {
  const resolve = useAction("disputes.resolve", api.disputes.resolve.mutate);
  const buyerCents = priceCents - bidderCents;
  const decision =
    bidderCents === 0
      ? ({ resolution: "refund" } as const)
      : buyerCents === 0
        ? ({ resolution: "release" } as const)
        : ({ resolution: "split", bidderCents } as const);
  const verb = { refund: "Return everything", release: "Pay everything", split: "Divide it" }[decision.resolution];
  return (
    <Confirm
      button={verb}
      look="primary"
      title={`${verb}?`}
      confirm="Decide the dispute"
      action={resolve}
      operation="disputes.resolve"
      read={(fields) => ({ id: dispute.id, ...decision, note: fields.text("note") })}
    >
      <MoneyPreview
        lines={[
          { label: `Returns to ${buyer.displayName}`, cents: buyerCents },
          { label: `Is paid to ${bidder.displayName}`, cents: bidderCents },
        ]}
        note="The money moves at once. A decision cannot be changed."
      />
      <TextArea name="note" label="Note for both sides" optional rows={4} />
    </Confirm>
  );
}
