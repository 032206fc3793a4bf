import { type InfiniteData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import type { LedgerEntry } from "../../api/client.ts";
import { type LedgerFilters, ledgerQuery, walletQuery } from "../../api/queries.ts";
import { DownloadMenu } from "../../papers/downloadMenu.tsx";
import { BalanceChart, balancesOver } from "../../parts/balanceChart.tsx";
import { ButtonLink } from "../../parts/button.tsx";
import { kindWord, LedgerRow } from "../../parts/ledgerRow.tsx";
import { Pages, Rows } from "../../parts/list.tsx";
import { Money } from "../../parts/money.tsx";
import { movementsOf } from "../../parts/movements.ts";
import { useNow } from "../../parts/now.ts";
import { Page, Section } from "../../parts/page.tsx";
import { Empty } from "../../parts/states.tsx";
import { movementKinds } from "../../search.ts";
import { TopupArrival } from "./topupArrival.tsx";
import styles from "./wallet.module.css";

export function Wallet() {
  const { topup } = useSearch({ from: "/_signedIn/wallet/" });
  const { data: wallet } = useQuery(walletQuery);
  // The balance over time needs all kinds of movements; without a filter, the ledger below asks the same query.
  const all = movementsIn(useInfiniteQuery(ledgerQuery({})));
  const now = useNow(60_000);
  return (
    <Page
      title="Wallet"
      actions={
        <>
          <ButtonLink to="/wallet/top-up" look="primary">
            Top up
          </ButtonLink>
          <ButtonLink to="/wallet/payouts">Pay out</ButtonLink>
        </>
      }
    >
      {topup && <TopupArrival />}
      <div className={styles.buckets}>
        <div>
          <span>Available</span>
          <strong>{wallet ? <Money cents={wallet.availableCents} /> : "…"}</strong>
          <p>To post tasks with, or to have paid out.</p>
        </div>
        <div>
          <span>Held</span>
          <strong>{wallet ? <Money cents={wallet.heldCents} /> : "…"}</strong>
          <p>For your tasks. Paid to the bidder or returned to you when a task ends.</p>
        </div>
      </div>
      {wallet && (
        <BalanceChart points={balancesOver(all, wallet, Math.max(now, Date.parse(all[0]?.createdAt ?? "0")))} />
      )}
      <Ledger hasFees={all.some(({ kind }) => kind === "platform_fee")} />
    </Page>
  );
}

function Ledger({ hasFees }: { hasFees: boolean }) {
  const { bucket, kind } = useSearch({ from: "/_signedIn/wallet/" });
  const ledger = useInfiniteQuery(ledgerQuery({ bucket, kind }));
  const isFiltered = bucket !== undefined || kind !== undefined;
  return (
    <Section
      title="Ledger"
      lead="Every movement of your money. Nothing in it is ever changed or deleted."
      actions={
        <div className={styles.filters}>
          <Filters hasFees={hasFees} />
          <DownloadMenu of="the ledger" wanted={{ kind: "ledger" }} formats={["csv", "json"]} />
        </div>
      }
    >
      <Pages
        query={ledger}
        isEmpty={({ pages }) => pages[0]?.entries.length === 0}
        empty={
          isFiltered ? (
            <Empty title="Nothing matches" action={<ButtonLink to="/wallet">Show everything</ButtonLink>} />
          ) : (
            <Empty
              title="No money has moved yet"
              action={<ButtonLink to="/wallet/top-up">Top up your wallet</ButtonLink>}
            >
              Top up to post tasks, or earn by working on others'.
            </Empty>
          )
        }
      >
        {() => (
          <Rows label="Ledger">
            {movementsIn(ledger).map((movement) => (
              <LedgerRow key={movement.id} movement={movement} />
            ))}
          </Rows>
        )}
      </Pages>
    </Section>
  );
}

const movementsIn = ({ data }: { data: InfiniteData<{ entries: LedgerEntry[] }> | undefined }) =>
  movementsOf(data?.pages.flatMap(({ entries }) => entries) ?? []);

function Filters({ hasFees }: { hasFees: boolean }) {
  const { bucket, kind } = useSearch({ from: "/_signedIn/wallet/" });
  const navigate = useNavigate();
  // Whoever has never paid a fee need not know of any.
  const kinds = movementKinds.filter((each) => each !== "platform_fee" || each === kind || hasFees);
  const show = (change: LedgerFilters) =>
    void navigate({ to: "/wallet", search: { bucket, kind, ...change }, replace: true, resetScroll: false });
  return (
    <>
      <select
        aria-label="Part of the wallet"
        value={bucket ?? ""}
        onChange={({ target }) =>
          show({ bucket: (["available", "held"] as const).find((each) => each === target.value) })
        }
      >
        <option value="">Both parts</option>
        <option value="available">Available</option>
        <option value="held">Held</option>
      </select>
      <select
        aria-label="Kind of movement"
        value={kind ?? ""}
        onChange={({ target }) => show({ kind: movementKinds.find((each) => each === target.value) })}
      >
        <option value="">Everything</option>
        {kinds.map((each) => (
          <option key={each} value={each}>
            {kindWord(each)}
          </option>
        ))}
      </select>
    </>
  );
}
