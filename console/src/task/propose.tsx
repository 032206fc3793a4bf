import { useState } from "react";
import { type Agreement, api } from "../api/client.ts";
import { useAction } from "../api/useAction.ts";
import { limitsOf } from "../limits.ts";
import { Confirm } from "../parts/confirm.tsx";
import { Choices, MoneyField, TextArea, TextField } from "../parts/fields.tsx";
import { formatMoney, moneyText, parseMoney } from "../parts/format.ts";
import { MoneyPreview } from "../parts/money.tsx";
import styles from "./agreements.module.css";
import { moneyOf, Proposals, type Sides } from "./agreements.tsx";
import { FeeNote } from "./feeNote.tsx";

const DAY_MS = 86_400_000;

/** What the two sides may propose, by the task's status. Source: docs/contract.md "Agreements". */
const kinds: Partial<Record<Sides["task"]["status"], readonly Agreement["kind"][]>> = {
  awarded: ["extend", "cancel", "settle"],
  delivered: ["cancel", "settle"],
  disputed: ["settle"],
};

interface OtherWaysProps extends Sides {
  canPropose: boolean;
  canGiveBack: boolean;
}

/** Ways out of a task that need no fight: something that both sides agree on, and giving it back. Below them, what was proposed. */
export function OtherWays({ canPropose, canGiveBack, ...sides }: OtherWaysProps) {
  const possible = canPropose ? (kinds[sides.task.status] ?? []) : [];
  return (
    <div className={styles.ways}>
      {possible.length > 0 && (
        <p className={styles.quiet}>
          A proposal changes nothing until <bdi>{otherOf(sides)}</bdi> accepts it.
        </p>
      )}
      {(possible.length > 0 || canGiveBack) && (
        <div className={styles.actions}>
          {possible.includes("extend") && <Extend {...sides} />}
          {possible.includes("settle") && <Settle {...sides} />}
          {possible.includes("cancel") && <CancelTogether {...sides} />}
          {canGiveBack && <GiveBack {...sides} />}
        </div>
      )}
      <Proposals taskId={sides.task.id} />
    </div>
  );
}

/** What every proposal has to say. */
function Reason({ who }: { who: string }) {
  const { minLength } = limitsOf("agreements.propose", "reason");
  return (
    <TextArea
      name="reason"
      label="Why?"
      hint={`${who} reads it, and moderators if there is a dispute. At least ${minLength} characters.`}
      rows={4}
    />
  );
}

const otherOf = ({ task, bid, side }: Sides) => (side === "buyer" ? bid.bidder.displayName : task.buyer.displayName);

/** A time as a field for a local date and time has it. */
function localText(ms: number): string {
  const local = new Date(ms - new Date(ms).getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 16);
}

function Extend(sides: Sides) {
  const propose = useAction("agreements.propose", api.agreements.propose.mutate);
  const due = Math.max(Date.parse(sides.task.deliveryDueAt ?? ""), Date.now());
  return (
    <Confirm
      button={sides.side === "buyer" ? "Offer more time" : "Ask for more time"}
      size="small"
      title="Propose more time?"
      confirm="Propose it"
      action={propose}
      operation="agreements.propose"
      read={(fields) => ({
        id: sides.task.id,
        kind: "extend" as const,
        deliveryDueAt: fields.time("deliveryDueAt"),
        reason: fields.text("reason"),
      })}
    >
      <TextField
        name="deliveryDueAt"
        label="New due time"
        type="datetime-local"
        defaultValue={localText(due + 3 * DAY_MS)}
      />
      <Reason who={otherOf(sides)} />
    </Confirm>
  );
}

function Settle(sides: Sides) {
  const propose = useAction("agreements.propose", api.agreements.propose.mutate);
  const { task, bid } = sides;
  const half = Math.round(bid.priceCents / 2);
  const [bidderCents, setBidderCents] = useState(half);
  return (
    <Confirm
      button="Propose to settle"
      size="small"
      title="Propose to settle?"
      confirm="Propose it"
      action={propose}
      operation="agreements.propose"
      read={(fields) => ({
        id: task.id,
        kind: "settle" as const,
        bidderCents: fields.money("bidderCents"),
        reason: fields.text("reason"),
      })}
      onInput={(fields) => {
        const cents = parseMoney(fields.text("bidderCents"));
        if (cents !== null && cents <= bid.priceCents) setBidderCents(cents);
      }}
    >
      <MoneyField
        name="bidderCents"
        label={sides.side === "bidder" ? "You are paid" : `${bid.bidder.displayName} is paid`}
        range={`At most the price, ${formatMoney(bid.priceCents)}.`}
        defaultValue={moneyText(half)}
      />
      <MoneyPreview lines={moneyOf(bidderCents, sides)} note="The task ends when both sides agree." />
      <FeeNote side={sides.side} />
      <Reason who={otherOf(sides)} />
    </Confirm>
  );
}

function CancelTogether(sides: Sides) {
  const propose = useAction("agreements.propose", api.agreements.propose.mutate);
  return (
    <Confirm
      button="Propose to cancel"
      size="small"
      title="Propose to cancel the task?"
      confirm="Propose it"
      action={propose}
      operation="agreements.propose"
      read={(fields) => ({ id: sides.task.id, kind: "cancel" as const, reason: fields.text("reason") })}
    >
      <MoneyPreview lines={moneyOf(0, sides)} note="It counts against nobody." />
      <Reason who={otherOf(sides)} />
    </Confirm>
  );
}

/** The bidder's way out before anything was delivered, which the other side need not agree to. */
function GiveBack(sides: Sides) {
  const giveBack = useAction("bids.giveBack", api.bids.giveBack.mutate);
  return (
    <Confirm
      button="Give the task back"
      size="small"
      look="danger"
      title="Give the task back?"
      confirm="Give it back"
      action={giveBack}
      operation="bids.giveBack"
      read={(fields) => {
        fields.require("sure", "Tick this if you are sure.");
        return { id: sides.bid.id, reason: fields.text("reason") };
      }}
    >
      <MoneyPreview lines={moneyOf(0, sides)} note="The task ends, and your profile counts it as given back." />
      <TextArea name="reason" label="Why?" hint={`${sides.task.buyer.displayName} reads it.`} rows={4} />
      <Choices
        name="sure"
        label="This cannot be undone"
        options={[{ value: "yes", label: "I give up this task and its price" }]}
      />
    </Confirm>
  );
}
