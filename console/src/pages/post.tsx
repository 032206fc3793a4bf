import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../api/client.ts";
import { walletQuery } from "../api/queries.ts";
import { useAction } from "../api/useAction.ts";
import { JudgingFields } from "../checks/judgingFields.tsx";
import { useJudging } from "../checks/useJudging.ts";
import { Form } from "../parts/form.tsx";
import { MoneyPreview } from "../parts/money.tsx";
import { Notice } from "../parts/notice.tsx";
import { Page } from "../parts/page.tsx";
import { SendFiles } from "../task/briefFiles.tsx";
import { ChooseFiles, type Chosen } from "../task/chooseFiles.tsx";
import { readTask, TaskFields } from "../task/taskFields.tsx";

export function PostTask() {
  const navigate = useNavigate();
  const [budgetCents, setBudgetCents] = useState(0);
  const { data: wallet } = useQuery(walletQuery);
  const [files, setFiles] = useState<readonly Chosen[]>([]);
  const [taskId, setTaskId] = useState<string | null>(null);
  const judging = useJudging({ draft: "post" });
  const showTask = (id: string) => navigate({ to: "/tasks/$taskId", params: { taskId: id } });
  const post = useAction("tasks.create", api.tasks.create.mutate, {
    draft: "post",
    // Files belong to a task, so they are sent once there is one.
    onSuccess: ({ task }) => (files.length === 0 ? showTask(task.id) : setTaskId(task.id)),
  });
  const rest = (wallet?.availableCents ?? 0) - budgetCents;
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
  return (
    <Page title="Post a task" width="narrow" lead="The clearer it is, the better the bids.">
      <Form
        action={post}
        operation="tasks.create"
        read={(fields) => ({ ...readTask(fields), ...judging.read(fields) })}
        onInput={(fields) => {
          setBudgetCents(fields.money("maxBudgetCents"));
          judging.watch(fields);
        }}
        submit="Post the task"
      >
        <TaskFields />
        <JudgingFields judging={judging} />
        <ChooseFiles files={files} onChange={setFiles} />
        <MoneyPreview
          lines={[
            { label: "Available now", cents: wallet?.availableCents ?? 0 },
            { label: "Is held for this task", cents: budgetCents },
            { label: "Available afterwards", cents: rest },
          ]}
          note="You pay only the price of the bid that you choose, and only for a delivery. The rest returns. Until you award the task, you can cancel it and get everything back."
        />
        {rest < 0 && (
          <Notice kind="warn">
            Your balance is too low for this budget. <Link to="/wallet/top-up">Top up your wallet</Link>; your text
            stays here.
          </Notice>
        )}
      </Form>
    </Page>
  );
}
