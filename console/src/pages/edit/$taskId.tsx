import { useSuspenseQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { api, isWhole, type Task } from "../../api/client.ts";
import { taskQuery } from "../../api/queries.ts";
import { useAction } from "../../api/useAction.ts";
import { AgreedChecks } from "../../checks/agreedChecks.tsx";
import { JudgingFields } from "../../checks/judgingFields.tsx";
import { rowOf, toCheck } from "../../checks/rows.ts";
import { useJudging } from "../../checks/useJudging.ts";
import type { FieldReader } from "../../parts/fieldReader.ts";
import { Form } from "../../parts/form.tsx";
import { MoneyPreview } from "../../parts/money.tsx";
import { Notice } from "../../parts/notice.tsx";
import { Page } from "../../parts/page.tsx";
import { NotFoundPage } from "../../parts/states.tsx";
import { readTask, TaskFields } from "../../task/taskFields.tsx";

export function EditTask() {
  const { taskId } = useParams({ from: "/_signedIn/edit/$taskId" });
  const { data } = useSuspenseQuery(taskQuery(taskId));
  const mayEdit = data.availableActions?.includes("tasks.update") === true;
  return isWhole(data.task) && mayEdit ? <EditForm task={data.task} /> : <NotFoundPage />;
}

const fieldOfError = {
  budget_locked_by_bids: "maxBudgetCents",
  revisions_locked_by_bids: "revisions",
  checks_locked_by_bids: "checks",
};

function EditForm({ task }: { task: Task }) {
  const navigate = useNavigate();
  const [budgetCents, setBudgetCents] = useState(task.maxBudgetCents);
  const showTask = () => navigate({ to: "/tasks/$taskId", params: { taskId: task.id } });
  const update = useAction("tasks.update", api.tasks.update.mutate, { onSuccess: showTask });
  const judging = useJudging({ task });
  const areChecksLocked = task.bidCount > 0;
  const difference = budgetCents - task.maxBudgetCents;
  const read = (fields: FieldReader) => {
    const { maxBudgetCents, revisions, ...rest } = readTask(fields);
    // What stays the same is left out: with active bids, any other budget or number of rounds is refused.
    return {
      ...{ id: task.id, ...rest },
      ...(maxBudgetCents !== task.maxBudgetCents && { maxBudgetCents }),
      ...(revisions !== task.revisions && { revisions }),
      ...(!areChecksLocked && changedOf(task, judging.read(fields))),
    };
  };
  return (
    <Page title="Edit the task" width="narrow">
      {task.bidCount > 0 && (
        <Notice kind="info">
          The budget, the rounds of changes and the checks are locked while somebody has an active bid. Bidders see that
          the text was changed after they had bid.
        </Notice>
      )}
      <Form
        action={update}
        operation="tasks.update"
        read={read}
        onInput={(fields) => {
          setBudgetCents(fields.money("maxBudgetCents"));
          judging.watch(fields);
        }}
        submit="Save"
        fieldOfError={fieldOfError}
        beside={
          <Link to="/tasks/$taskId" params={{ taskId: task.id }}>
            Leave it as it is
          </Link>
        }
      >
        <TaskFields task={task} />
        {areChecksLocked ? <AgreedChecks task={task} /> : <JudgingFields judging={judging} />}
        {difference !== 0 && budgetCents > 0 && (
          <MoneyPreview
            lines={[
              {
                label: difference > 0 ? "Is held in addition" : "Returns to your available balance",
                cents: Math.abs(difference),
              },
              { label: "Held for this task afterwards", cents: budgetCents },
            ]}
          />
        )}
      </Form>
    </Page>
  );
}

/** Of how a delivery is judged, what is other than before. */
function changedOf(task: Task, { checks, acceptOnChecks }: ReturnType<ReturnType<typeof useJudging>["read"]>) {
  // As the form reads them: a text with blanks at its ends is another one there, which is no change of the person's.
  const before = task.checks.map((check) => toCheck(rowOf(check), () => {}));
  const isSame = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);
  return {
    ...(!isSame(checks.map(entriesOf), before.map(entriesOf)) && { checks }),
    ...(!isSame(acceptOnChecks, task.acceptOnChecks) && { acceptOnChecks }),
  };
}

/** In one order and without what is the same as nothing, so that checks can be compared. */
const entriesOf = (check: object) =>
  Object.entries(check)
    .filter(([, value]) => value !== undefined && value !== false)
    .toSorted(([a], [b]) => a.localeCompare(b));
