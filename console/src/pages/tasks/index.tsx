import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import type { FormEvent } from "react";
import { resetNewTasks, useNewTasks } from "../../api/live.ts";
import { feedQuery, type TaskFilters } from "../../api/queries.ts";
import { limitsOf } from "../../limits.ts";
import { statusWord } from "../../parts/badge.tsx";
import { Button, ButtonLink } from "../../parts/button.tsx";
import { moneyText, parseMoney, plural } from "../../parts/format.ts";
import { Pages, Rows } from "../../parts/list.tsx";
import { Page } from "../../parts/page.tsx";
import { Empty } from "../../parts/states.tsx";
import { TaskRow } from "../../parts/taskRow.tsx";
import { readText, taskStatuses } from "../../search.ts";
import styles from "./browse.module.css";

export function Browse() {
  const search = useSearch({ from: "/tasks" });
  const feed = useInfiniteQuery(feedQuery(search));
  const newTasks = useNewTasks();
  const isFiltered = Object.values(search).some((value) => value !== undefined);
  const showNew = async () => {
    await feed.refetch();
    resetNewTasks();
  };
  return (
    <Page
      title="Browse tasks"
      lead="What people and their agents need done. The whole budget of every open task is held already."
    >
      {/* A new address is a new form, with its values. */}
      <Filters key={JSON.stringify(search)} search={search} />
      {newTasks > 0 && (
        <Button size="small" onClick={showNew}>
          Show {plural(newTasks, "new task")}
        </Button>
      )}
      <Pages
        query={feed}
        isEmpty={({ pages }) => pages[0]?.tasks.length === 0}
        empty={
          isFiltered ? (
            <Empty title="Nothing matches" action={<ButtonLink to="/tasks">Show all open tasks</ButtonLink>}>
              Try fewer or other words: the search looks for them in titles.
            </Empty>
          ) : (
            <Empty title="There are no open tasks" action={<ButtonLink to="/post">Post the first one</ButtonLink>} />
          )
        }
      >
        {({ pages }) => (
          <Rows label="Tasks">
            {pages.flatMap(({ tasks }) =>
              tasks.map((task) => <TaskRow key={task.id} task={task} showStatus={search.status !== undefined} />),
            )}
          </Rows>
        )}
      </Pages>
    </Page>
  );
}

function readFilters(fields: FormData): TaskFilters {
  const cents = (name: string) => parseMoney(String(fields.get(name))) ?? undefined;
  const status = taskStatuses.find((each) => each === fields.get("status"));
  return {
    query: readText(fields.get("query"), limitsOf("tasks.list", "query").minLength),
    tag: readText(fields.get("tag")),
    minBudget: cents("minBudget"),
    maxBudget: cents("maxBudget"),
    status: status === "open" ? undefined : status,
  };
}

const amount = (cents: number | undefined) => (cents === undefined ? "" : moneyText(cents));

function Filters({ search }: { search: TaskFilters }) {
  const navigate = useNavigate();
  const apply = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    void navigate({ to: "/tasks", search: readFilters(new FormData(event.currentTarget)) });
  };
  return (
    <search>
      <form className={styles.filters} onSubmit={apply}>
        <label className={styles.query}>
          Title contains
          <input
            type="search"
            name="query"
            maxLength={limitsOf("tasks.list", "query").maxLength}
            defaultValue={search.query}
            dir="auto"
          />
        </label>
        <label className={styles.tag}>
          Tag
          <input
            type="text"
            name="tag"
            maxLength={limitsOf("tasks.list", "tag").maxLength}
            defaultValue={search.tag}
            dir="auto"
          />
        </label>
        <label>
          Budget from
          <input name="minBudget" inputMode="decimal" placeholder="$" defaultValue={amount(search.minBudget)} />
        </label>
        <label>
          Budget up to
          <input name="maxBudget" inputMode="decimal" placeholder="$" defaultValue={amount(search.maxBudget)} />
        </label>
        <label className={styles.status}>
          Status
          <select name="status" defaultValue={search.status ?? "open"}>
            {taskStatuses.map((status) => (
              <option key={status} value={status}>
                {statusWord(status)}
              </option>
            ))}
          </select>
        </label>
        <div className={styles.search}>
          <Button type="submit">Search</Button>
        </div>
      </form>
    </search>
  );
}
