import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../api/client.ts";
import { walletQuery } from "../api/queries.ts";
import { useAction } from "../api/useAction.ts";
import { JudgingFields } from "../checks/judgingFields.tsx";
import { useJudging } from "../checks/useJudging.ts";
import { limitsOf } from "../limits.ts";
import type { FieldReader } from "../parts/fieldReader.ts";
import { Form } from "../parts/form.tsx";
import { formatMoney } from "../parts/format.ts";
import { MoneyPreview } from "../parts/money.tsx";
import { Notice } from "../parts/notice.tsx";
import { Page } from "../parts/page.tsx";
import { SendFiles } from "../task/briefFiles.tsx";
import { ChooseFiles, type Chosen } from "../task/chooseFiles.tsx";
import { readTask, TaskFields } from "../task/taskFields.tsx";
import { useTopup } from "./wallet/useTopup.ts";

/** The text survives a checkout, so that it is still there if nothing was paid. */
const DRAFT = "post";

const { minimum: LEAST_CENTS = 0, maximum: MOST_CENTS = 0 } = limitsOf("wallet.topup", "amountCents");

/** What is held for a task, and what has to be paid first if the wallet lacks it. */
interface Cost {
  availableCents: number;
  budgetCents: number;
  /** 0 if the wallet has enough, or lacks more than can be paid at once. */
  payCents: number;
}

function costOf(availableCents: number, budgetCents: number): Cost {
  const missingCents = budgetCents - availableCents;
  const isPayable = missingCents > 0 && missingCents <= MOST_CENTS;
  return { availableCents, budgetCents, payCents: isPayable ? Math.max(LEAST_CENTS, missingCents) : 0 };
}

export function PostTask() {
  const navigate = useNavigate();
  const [budgetCents, setBudgetCents] = useState(0);
  const { data: wallet } = useQuery(walletQuery);
  const [files, setFiles] = useState<readonly Chosen[]>([]);
  const [taskId, setTaskId] = useState<string | null>(null);
  const showTask = (id: string) => navigate({ to: "/tasks/$taskId", params: { taskId: id } });
  const post = useAction("tasks.create", api.tasks.create.mutate, {
    draft: DRAFT,
    // Files belong to a task, so they are sent once there is one.
    onSuccess: ({ task }) => (files.length === 0 ? showTask(task.id) : setTaskId(task.id)),
  });
  const judging = useJudging({ draft: DRAFT });
  const read = (fields: FieldReader) => ({ ...readTask(fields), ...judging.read(fields) });
  const topup = useTopup<{ forTask: ReturnType<typeof read> }>();
  const cost = costOf(wallet?.availableCents ?? 0, budgetCents);
  if (taskId !== null) {
    return (
      <Page
        title="Your files are on their way"
        width="narrow"
        lead="The task is posted. Stay here until they are there."
      >
        <SendFiles taskId={taskId} files={files} onDone={() => showTask(taskId)} />
      </Page>
    );
  }
  const form = {
    operation: "tasks.create",
    onInput: (fields: FieldReader) => {
      setBudgetCents(fields.money("maxBudgetCents"));
      judging.watch(fields);
    },
    children: (
      <>
        <TaskFields />
        <JudgingFields judging={judging} />
        <ChooseFiles files={files} onChange={setFiles} />
        <CostOfTask cost={cost} hasFiles={files.length > 0} />
      </>
    ),
  };
  return (
    <Page title="Post a task" width="narrow" lead="The clearer it is, the better the bids.">
      {wallet !== undefined && cost.payCents > 0 ? (
        <Form
          {...form}
          action={{ ...topup, draft: DRAFT }}
          at="forTask."
          read={(fields) => ({ forTask: read(fields) })}
          submit={topup.isSuccess ? "Going to the checkout…" : `Post and pay ${formatMoney(cost.payCents)}`}
        />
      ) : (
        <Form {...form} action={post} read={read} submit="Post the task" />
      )}
    </Page>
  );
}

/** What the task does to the wallet, and what is paid before. */
function CostOfTask({ cost: { availableCents, budgetCents, payCents }, hasFiles }: { cost: Cost; hasFiles: boolean }) {
  const rest = availableCents + payCents - budgetCents;
  return (
    <>
      <MoneyPreview
        lines={[
          { label: "Available now", cents: availableCents },
          ...(payCents > 0 ? [{ label: "You pay at the checkout", cents: payCents }] : []),
          { label: "Is held for this task", cents: budgetCents },
          { label: "Available afterwards", cents: rest },
        ]}
        note="You pay only the price of the bid that you choose, and only for a delivery. The rest returns. Until you award the task, you can cancel it and get everything back."
      />
      {payCents > 0 && (
        <Notice title="Your wallet lacks money for this budget">
          You pay it on the checkout page of the payment processor, and the task is posted when the payment arrives.
          {hasFiles && " Files do not go through the checkout: add them to the task afterwards."}
        </Notice>
      )}
      {rest < 0 && (
        <Notice kind="warn">
          Your balance is too low for this budget. <Link to="/wallet/top-up">Top up your wallet</Link>; your text stays
          here.
        </Notice>
      )}
    </>
  );
}
