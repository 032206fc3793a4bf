import { infiniteQueryOptions, useInfiniteQuery } from "@tanstack/react-query";
import { api, type Statement } from "../../api/client.ts";
import { firstPage, nextCursorOf, pageOf } from "../../api/queries.ts";
import { formatMonth } from "../../month.ts";
import { DownloadMenu } from "../../papers/downloadMenu.tsx";
import { kindWord } from "../../parts/ledgerRow.tsx";
import { Fact, Facts, Pages } from "../../parts/list.tsx";
import { Money } from "../../parts/money.tsx";
import { Page, Section } from "../../parts/page.tsx";
import { Empty } from "../../parts/states.tsx";

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
    <Page title="Statements" lead="Each month opens with what the month before has closed with.">
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
      <Facts>
        <Fact name="Opened with">
          <Balances of={opening} />
        </Fact>
        {sums.map(({ kind, bucket, amountCents }) => (
          <Fact key={`${kind} ${bucket}`} name={`${kindWord(kind)}, ${bucket}`}>
            <Money cents={amountCents} signed />
          </Fact>
        ))}
        <Fact name={isOver ? "Closed with" : "Is at"}>
          <Balances of={closing} />
        </Fact>
        {feeCents > 0 && (
          <Fact name="Of it the platform's fees">
            <Money cents={feeCents} />, with <Money cents={feeTaxCents} /> tax
          </Fact>
        )}
      </Facts>
    </Section>
  );
}

function Balances({ of: { availableCents, heldCents } }: { of: Statement["opening"] }) {
  return (
    <>
      <Money cents={availableCents} /> available, <Money cents={heldCents} /> held
    </>
  );
}
