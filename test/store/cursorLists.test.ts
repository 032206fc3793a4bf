import pg from "pg";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { sql } from "../../server/store/connection.ts";
import { type CursorList, cursorLists } from "../../server/store/cursorLists.ts";
import { createModerator } from "../factories/moderators.ts";
import { createPerson, fund, type TestPerson } from "../factories/people.ts";
import { placeBid, postTask } from "../factories/tasks.ts";
import { callOverRest, type Input, inputFieldsOf, routeOf, routes } from "../setup/operations.ts";
import { useService } from "../setup/testService.ts";

const service = useService();
let caller: TestPerson;
let inputs: Partial<Record<string, Input>>;
let planner: pg.Client;

beforeAll(async () => {
  caller = await createModerator(service);
  await fund(service, caller.id, 1_000_000);
  const task = await postTask(caller);
  const webhook = await caller.post("/webhooks", { url: "https://93.184.215.14/hook", events: ["task.created"] });
  // What a list needs beside `cursor` and `limit`.
  inputs = {
    "bids.listForTask": { id: task.id },
    "questions.list": { id: task.id },
    "agreements.list": { id: task.id },
    "messages.list": { id: (await placeBid(await createPerson(service), task.id)).id },
    "webhooks.deliveries": { id: webhook.body.id },
  };
  planner = new pg.Client({ connectionString: service.databaseUrl });
  await planner.connect();
  // The tables are nearly empty here; without these the planner would read them whole and sort.
  await planner.query("SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off");
});

afterAll(() => planner?.end());

test("every operation that takes a cursor is declared as a list, and every declared list is one", () => {
  const takingCursor = routes.filter((route) => inputFieldsOf(route).includes("cursor"));
  const declared = Object.keys(cursorLists).sort();
  // A page of statements reads whole months, which share no start; there is no row of a table for each.
  declared.push("wallet.statements");
  const undeclared = takingCursor.map(({ procedurePath }) => procedurePath).filter((path) => !declared.includes(path));
  expect(undeclared, "add these to cursorLists in server/store/cursorLists.ts").toEqual([]);
  expect(takingCursor.map(({ procedurePath }) => procedurePath).sort()).toEqual(declared.sort());
});

interface Index {
  name: string;
  isUnique: boolean;
  columns: (string | null)[];
  predicate: string | null;
}

async function indexesOf(table: string): Promise<Index[]> {
  const { rows } = await planner.query<Index>(
    `SELECT c.relname AS name, i.indisunique AS "isUnique", pg_get_expr(i.indpred, i.indrelid) AS predicate,
            array(SELECT a.attname::text FROM unnest(i.indkey::int2[]) WITH ORDINALITY k (number, place)
                  LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number ORDER BY place) AS columns
     FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = $1::regclass AND i.indisvalid`,
    [table],
  );
  return rows;
}

/** True if the index contains all rows of a walk in order: by its column, if it has one, and then by the time in `column`. */
function serves({ columns, predicate }: Index, walk: string[], column: string): boolean {
  const isComplete = predicate === null || predicate === `(${walk[0]} IS NOT NULL)`;
  return isComplete && [...walk, column].every((name, place) => columns[place] === name);
}

interface PlanNode {
  "Node Type": string;
  "Index Name"?: string;
  Plans?: PlanNode[];
}

const nodesOf = (plan: PlanNode): PlanNode[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

/** The plans of the statements that a page of this list really runs on its table. */
async function plansOfPage(name: string, table: string, page: Input): Promise<PlanNode[][]> {
  const query = vi.spyOn(service.services.database, "query");
  const answer = await callOverRest(service.url, routeOf(name), { ...inputs[name], ...page }, caller.session);
  const sent = query.mock.calls.map(([statement]) => statement);
  query.mockRestore();
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  const pages = sent.filter(
    ({ text }) => new RegExp(`FROM ${table}\\b`).test(text) && /\bLIMIT\b/.test(text) && /"createdAt"/.test(text),
  );
  return Promise.all(
    pages.map(async ({ text, values }) => {
      const { rows } = await planner.query(`EXPLAIN (FORMAT JSON) ${text}`, values);
      return nodesOf(rows[0]["QUERY PLAN"][0].Plan);
    }),
  );
}

describe.each(Object.entries(cursorLists))("the list %s", (name, list) => {
  const { table, filterColumns, column = "created_at" }: CursorList = list;
  const walks: string[][] = filterColumns.length === 0 ? [[]] : filterColumns.map((column) => [column]);

  test("has a unique constraint that keeps the timestamps of each walk apart", async () => {
    const constraint = (await indexesOf(table)).find((index) => index.name === `${table}_feed_key`);
    expect(constraint, `${table} has no constraint ${table}_feed_key`).toMatchObject({
      isUnique: true,
      predicate: null,
    });
    // Unique within each walk, or over the whole table, which includes it.
    const allowed = walks.length === 1 ? [[column], [...walks.flat(), column]] : [[column]];
    expect(allowed).toContainEqual(constraint?.columns);
    const { rows } = await planner.query(
      "SELECT 1 FROM pg_attribute WHERE attrelid = $1::regclass AND attname = $2 AND attnotnull",
      [table, column],
    );
    expect(rows, `${table}.${column} may be null, which no unique constraint compares`).toHaveLength(1);
  });

  test.each([{}, { cursor: "2026-11-20T12:00:00.123456Z" }])(
    "reads a page from an index in its order (%o)",
    async (page) => {
      const indexes = await indexesOf(table);
      const plans = await plansOfPage(name, table, page);
      expect(plans.length).toBeGreaterThan(0);
      for (const nodes of plans) {
        for (const walk of walks) {
          const serving = indexes.filter((index) => serves(index, walk, column)).map((index) => index.name);
          expect(serving, `${table} has no index on (${[...walk, column]})`).not.toEqual([]);
          expect(nodes.some((node) => serving.includes(node["Index Name"] ?? ""))).toBe(true);
        }
        expect(nodes.map((node) => node["Node Type"]).filter((type) => /Sort|Seq Scan/.test(type))).toEqual([]);
      }
    },
  );

  test("runs a transaction again if it violates that constraint", async () => {
    let attempts = 0;
    await service.services.database.transaction(async (tx) => {
      if (++attempts > 1) return;
      await tx.query(sql`SELECT set_config('test.constraint', ${`${table}_feed_key`}, true)`);
      await tx.query(sql`
        DO $$ BEGIN
          RAISE 'a tie' USING ERRCODE = 'unique_violation', CONSTRAINT = current_setting('test.constraint');
        END $$`);
    });
    expect(attempts).toBe(2);
  });
});
