import { infiniteQueryOptions, useInfiniteQuery } from "@tanstack/react-query";
import { api, type Statement } from "../../api/client.ts";
import { firstPage, nextCursorOf, pageOf } from "../../api/queries.ts";
import { formatMonth } from "../../month.ts";
import { DownloadMenu } from "../../papers/downloadMenu.tsx";
import { formatMoney } from "../../parts/format.ts";
import { kindWord } from "../../parts/ledgerRow.tsx";
import { Pages } from "../../parts/list.tsx";
import { Money } from "../../parts/money.tsx";
import { Page, Section } from "../../parts/page.tsx";
import { Empty } from "../../parts/states.tsx";
import styles from "./wallet.module.css";

const statementsQuery = infiniteQueryOptions({
  queryKey: ["wallet", "statements"],
  queryFn: ({ pageParam, signal }) => api.wallet.statements.query({ ...pageOf(pageParam), limit: 12 }, { signal }),
  initialPageParam: firstPage,
  getNextPageParam: nextCursorOf,
});

/** The months of the wallet. */
export function Statements() {
  const query = useInfiniteQuery(statementsQuery);
  return (
    <Page title="Statements" width="narrow" lead="Each month opens with what the month before has closed with.">
      <Pages
        query={query}
        isEmpty={({ pages }) => pages.every(({ statements }) => statements.length === 0)}
        empty={<Empty title="No money has moved yet">The first movement begins the first month.</Empty>}
        more="Show older months"
      >
        {({ pages }) =>
          pages
            .flatMap(({ statements }) => statements)
            .map((statement, index) => <Month key={statement.month} statement={statement} isOver={index > 0} />)
        }
      </Pages>
    </Page>
  );
}

/** The newest month is the current one, which is not over. */
function Month({ statement, isOver }: { statement: Statement; isOver: boolean }) {
  const { month, opening, closing, sums, feeCents, feeTaxCents } = statement;
  const name = formatMonth(month);
  return (
    <Section
      title={name}
      lead={isOver ? undefined : "Until now: this month is not over."}
      actions={
        <DownloadMenu
          of={`the statement of ${name}`}
          wanted={{ kind: "statement", month }}
          formats={["pdf", "csv", "json"]}
        />
      }
      card
    >
      <table className={styles.statement}>
        <thead>
          <tr>
            <td />
            <th scope="col">Available</th>
            <th scope="col">Held</th>
          </tr>
        </thead>
        <tbody>
          <Balances name="Opened with" of={opening} />
          {kindsIn(sums).map((kind) => (
            <tr key={kind}>
              <th scope="row">{kindWord(kind)}</th>
              {buckets.map((bucket) => (
                <Sum key={bucket} cents={sumOf(sums, kind, bucket)} />
              ))}
            </tr>
          ))}
        </tbody>
        <tfoot>
          <Balances name={isOver ? "Closed with" : "Is now"} of={closing} />
        </tfoot>
      </table>
      {feeCents > 0 && (
        <p className={styles.fees}>
          The platform's fees are {formatMoney(feeCents)}
          {feeTaxCents > 0 && `, with ${formatMoney(feeTaxCents)} tax in them`}.
        </p>
      )}
    </Section>
  );
}

type Sum = Statement["sums"][number];

const buckets = ["available", "held"] as const;
const kindsIn = (sums: readonly Sum[]) => [...new Set(sums.map(({ kind }) => kind))];
const sumOf = (sums: readonly Sum[], kind: Sum["kind"], bucket: Sum["bucket"]) =>
  sums.find((each) => each.kind === kind && each.bucket === bucket)?.amountCents;

const Sum = ({ cents }: { cents: number | undefined }) => (
  <td>{cents !== undefined && <Money cents={cents} signed />}</td>
);

function Balances({ name, of: { availableCents, heldCents } }: { name: string; of: Statement["opening"] }) {
  return (
    <tr>
      <th scope="row">{name}</th>
      <td>
        <Money cents={availableCents} />
      </td>
      <td>
        <Money cents={heldCents} />
      </td>
    </tr>
  );
}
