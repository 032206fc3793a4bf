import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, type Bid, type Task } from "../api/client.ts";
import { useAction } from "../api/useAction.ts";
import { StatusBadge } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { Confirm } from "../parts/confirm.tsx";
import type { FieldReader } from "../parts/fieldReader.ts";
import { MoneyField, TextArea, TextField } from "../parts/fields.tsx";
import { Form } from "../parts/form.tsx";
import { formatDay, formatHours, formatMoney, moneyText } from "../parts/format.ts";
import { Fact, Facts } from "../parts/list.tsx";
import { Money, MoneyPreview } from "../parts/money.tsx";
import { Notice } from "../parts/notice.tsx";
import { Section } from "../parts/page.tsx";
import { Time } from "../parts/time.tsx";
import { BidNotes } from "./bidNotes.tsx";
import { comingOf, feeOf, feesQuery, feeText } from "./fee.ts";
import styles from "./files.module.css";

const readBid = (fields: FieldReader) => ({
  priceCents: fields.money("priceCents"),
  etaHours: fields.number("etaHours"),
  notes: fields.text("notes"),
});

/** Places a bid on an open task. */
export function PlaceBid({ task }: { task: Task }) {
  const [priceCents, setPriceCents] = useState(0);
  const place = useAction("bids.place", api.bids.place.mutate, { draft: `bid.${task.id}` });
  return (
    <Section title="Place a bid" id="bid" card>
      <Form
        action={place}
        operation="bids.place"
        read={(fields) => ({ id: task.id, ...readBid(fields) })}
        onInput={(fields) => setPriceCents(fields.money("priceCents"))}
        submit="Place the bid"
        fieldOfError={{ price_above_budget: "priceCents" }}
      >
        <BidFields task={task} />
        {priceCents > 0 && <Earnings priceCents={priceCents} />}
      </Form>
    </Section>
  );
}

/** What a price is worth to its bidder, as the service would freeze it now. */
function Earnings({ priceCents }: { priceCents: number }) {
  const { data: fees } = useQuery(feesQuery);
  if (fees === undefined) return null;
  const coming = comingOf(fees.schedules, Date.now());
  const announced =
    coming && `A price that is set from ${formatDay(coming.from)} on pays another fee: ${feeText(coming)}.`;
  const withdrawable = ["You can change or withdraw the bid until the buyer decides.", announced]
    .filter(Boolean)
    .join(" ");
  if (fees.current === null) {
    const lines = [{ label: "You earn, when the buyer accepts", cents: priceCents }];
    return <MoneyPreview lines={lines} note={`There are no fees, and a bid costs nothing. ${withdrawable}`} />;
  }
  const feeCents = feeOf(priceCents, fees.current);
  return (
    <MoneyPreview
      lines={[
        { label: "Price", cents: priceCents },
        { label: "The platform's fee", cents: -feeCents },
        { label: "You get, when the buyer accepts", cents: priceCents - feeCents },
      ]}
      note={`The fee is ${feeText(fees.current)}. It stays as it is when you place the bid. ${withdrawable}`}
    />
  );
}

function BidFields({ task, bid }: { task: Task; bid?: Bid & { notes: string | null } }) {
  return (
    <>
      <MoneyField
        name="priceCents"
        label="Price"
        hint={`At most ${formatMoney(task.maxBudgetCents)}, the task's budget.`}
        defaultValue={bid && moneyText(bid.priceCents)}
      />
      <TextField
        name="etaHours"
        label="Hours until the delivery"
        hint="From the award on. 48 are two days."
        inputMode="decimal"
        defaultValue={bid && String(bid.etaHours)}
      />
      <TextArea name="notes" label="Notes for the buyer" optional rows={4} defaultValue={bid?.notes ?? ""} />
    </>
  );
}

interface OwnBidProps {
  task: Task;
  bid: Bid;
  canUpdate: boolean;
  canWithdraw: boolean;
}

/** The caller's own bid, with what they can still do to it. */
export function OwnBid({ task, bid, canUpdate, canWithdraw }: OwnBidProps) {
  const [whole, setWhole] = useState<Bid | null>(null);
  const [isLoading, setLoading] = useState(false);
  const edit = async () => {
    // A form must have all of the notes, of which the task has only the beginning.
    setLoading(true);
    const read = await api.bids.read.query({ id: bid.id }).catch(() => null);
    setLoading(false);
    setWhole(read?.bid ?? null);
  };
  if (whole !== null) return <ChangeBid task={task} bid={whole} onDone={() => setWhole(null)} />;
  return (
    <Section title="Your bid" actions={<StatusBadge status={bid.status} />} card>
      <Facts>
        <Fact name="Price">
          <Money cents={bid.priceCents} />
        </Fact>
        {bid.feeCents !== undefined && bid.netCents !== undefined && bid.feeCents > 0 && (
          <>
            <Fact name="The platform's fee">
              <Money cents={-bid.feeCents} />
            </Fact>
            <Fact name="You get">
              <Money cents={bid.netCents} />
            </Fact>
          </>
        )}
        <Fact name="Time">{formatHours(bid.etaHours)}</Fact>
        <Fact name="Placed">
          <Time at={bid.createdAt} />
        </Fact>
      </Facts>
      <BidNotes bid={bid} />
      {bid.taskEditedAt !== null && (
        <Notice kind="warn">
          The buyer changed the task <Time at={bid.taskEditedAt} />, after you placed this bid. Read it again.
        </Notice>
      )}
      {(canUpdate || canWithdraw) && (
        <div className={styles.actions}>
          {canUpdate && (
            <Button size="small" busy={isLoading} onClick={edit}>
              Change
            </Button>
          )}
          {canWithdraw && <WithdrawBid bid={bid} />}
        </div>
      )}
    </Section>
  );
}

function ChangeBid({ task, bid, onDone }: { task: Task; bid: Bid; onDone: () => void }) {
  const [priceCents, setPriceCents] = useState(bid.priceCents);
  const update = useAction("bids.update", api.bids.update.mutate, { onSuccess: onDone });
  return (
    <Section title="Change your bid" card>
      <Form
        action={update}
        operation="bids.update"
        read={(fields) => ({ id: bid.id, ...readBid(fields) })}
        onInput={(fields) => setPriceCents(fields.money("priceCents"))}
        submit="Save the bid"
        fieldOfError={{ price_above_budget: "priceCents" }}
        beside={
          <Button look="quiet" onClick={onDone}>
            Leave it as it is
          </Button>
        }
      >
        <BidFields task={task} bid={bid} />
        {priceCents > 0 && priceCents !== bid.priceCents && <Earnings priceCents={priceCents} />}
      </Form>
    </Section>
  );
}

function WithdrawBid({ bid }: { bid: Bid }) {
  const withdraw = useAction("bids.withdraw", api.bids.withdraw.mutate);
  return (
    <Confirm
      button="Withdraw"
      size="small"
      look="danger"
      title="Withdraw your bid?"
      confirm="Withdraw the bid"
      action={withdraw}
      operation="bids.withdraw"
      read={() => ({ id: bid.id })}
    >
      <p>The buyer can no longer choose it. You can bid again while the task is open.</p>
    </Confirm>
  );
}
