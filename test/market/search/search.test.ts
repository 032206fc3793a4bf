import { beforeAll, describe, expect, test } from "vitest";
import type { TaskSearch } from "../../../server/market/search/filters.ts";
import { searchTasks } from "../../../server/market/search/search.ts";
import { rangeTerms, timeTerms } from "../../../server/market/search/terms.ts";
import { type TaskListItem, type TaskStatus, taskStatuses } from "../../../server/schemas/task.ts";
import { type Connection, sql } from "../../../server/store/connection.ts";
import { createPerson, type TestPerson } from "../../factories/people.ts";
import { postTask } from "../../factories/tasks.ts";
import { rest } from "../../setup/client.ts";
import { useService } from "../../setup/testService.ts";

const service = useService();
let buyer: TestPerson;
beforeAll(async () => {
  buyer = await createPerson(service, { cents: 100_000_000 });
});

const search = async (parameters: Record<string, string>) => {
  const answer = await rest(service.url, "GET", `/tasks?${new URLSearchParams({ limit: "100", ...parameters })}`);
  expect(answer.status, answer.text).toBe(200);
  return answer.body.tasks.map(({ title }: { title: string }) => title) as string[];
};

describe("a query", () => {
  test.each([
    ["Half price: 50% off_today", ["50%", "f_t", "% o", "OFF_TODAY"], ["5%", "50_", "o%y", "off today"]],
    ["Back\\slash and 'quotes'", ["k\\s", "'quotes'", "\\sl"], ["\\\\", "back/slash"]],
    ["Käännä ÄÄNITE suomeksi", ["äänite", "KÄÄNNÄ", "ÄÄ", "ka\u0308a\u0308nna\u0308"], ["aanite"]],
    ["Μετάφραση για τον ΣΊΣΥΦΟ, ο Σίσυφος", ["σίσυφος", "ΣΊΣΥΦΟΣ", "μετάφρ"], ["σισυφος"]],
    ["Перевести статью", ["ПЕРЕВЕСТИ", "ст", "ТЬЮ"], ["перевод"]],
    ["把菜单翻译成芬兰语", ["翻译", "菜单翻", "芬兰语"], ["菜翻"]],
    ["צריך לתרגם תפריט", ["לתרגם", "תפ"], ["תרגום"]],
    ["Emoji 👩‍🚀🚀 rocket", ["👩‍🚀🚀", "🚀 r"], ["🚀r", "👩🚀"]],
    ["Tab and  two spaces", ["and  two", "D  T"], ["and two"]],
  ])("is literal and takes any case and script: %s", async (title, found, notFound) => {
    await postTask(buyer, { title });
    for (const query of found) expect(await search({ query }), query).toContain(title);
    for (const query of notFound) expect(await search({ query }), query).not.toContain(title);
  });

  test("has 2 to 80 code points; the description is not searched", async () => {
    await postTask(buyer, { title: "A plain title", description: "a needle in the text" });
    expect(await search({ query: "needle" })).toEqual([]);
    for (const query of ["x", "🚀", "x".repeat(81), "e\u0301".repeat(41)]) {
      expect((await rest(service.url, "GET", `/tasks?${new URLSearchParams({ query })}`)).status).toBe(400);
    }
    for (const query of ["🦜\u200d", "é".repeat(80), "🚀".repeat(80)]) expect(await search({ query })).toEqual([]);
  });
});

test("a change of title, tags, budget or status is found immediately, and what it replaced no longer", async () => {
  const task = await postTask(buyer, { title: "Before the change", tags: ["old tag"], maxBudgetCents: 777_700 });
  await buyer.patch(`/tasks/${task.id}`, { title: "After it", tags: ["new tag"], maxBudgetCents: 888_800 });
  expect(await search({ query: "before the", tag: "old tag" })).toEqual([]);
  expect(await search({ tag: " NEW Tag ", minBudget: "888800", maxBudget: "888800", query: "aft" })).toEqual([
    "After it",
  ]);
  await buyer.post(`/tasks/${task.id}/cancel`);
  expect(await search({ tag: "new tag" })).toEqual([]);
  expect(await search({ tag: "new tag", status: "cancelled,open" })).toEqual(["After it"]);
});

describe("a tag", () => {
  test.each([
    ["TypeScript", ["TypeScript", "typescript", " TYPESCRIPT "], ["Type", "typescripts"]],
    ["Käännös", ["käännös", "KÄÄNNÖS", "ka\u0308a\u0308nno\u0308s"], ["kaannos"]],
    ["Σίσυφος", ["ΣΊΣΥΦΟΣ", "σίσυφος", "σίσυφοσ"], ["σισυφος"]],
    ["İstanbul ıssız", ["İstanbul ıssız"], ["tanbul"]],
    ["Straße", ["straße", "STRAßE"], ["strase"]],
    ["c++ 100%, 'x'", ["C++ 100%, 'X'"], ["c++"]],
  ])("comes back as it was written, and is found in any case: %s", async (tag, found, notFound) => {
    const task = await postTask(buyer, { title: `Tagged ${tag}`, tags: [` ${tag} `, "other"] });
    expect(task.tags).toEqual([tag, "other"]);
    expect((await rest(service.url, "GET", `/tasks/${task.id}`)).body.task.tags).toEqual([tag, "other"]);
    for (const asked of found) expect(await search({ tag: asked }), asked).toContain(`Tagged ${tag}`);
    for (const asked of notFound) expect(await search({ tag: asked }), asked).not.toContain(`Tagged ${tag}`);
  });

  test("is kept once, as it was written first, in the order of the list", async () => {
    const tags = ["b", "Finnish", "B", "FINNISH", " finnish", "a", "e\u0301", "É"];
    const task = await postTask(buyer, { tags });
    expect(task.tags).toEqual(["b", "Finnish", "a", "e\u0301"]);
    const { body } = await buyer.patch(`/tasks/${task.id}`, { tags: ["Z", "z", "Y"] });
    expect(body.task.tags).toEqual(["Z", "Y"]);
    expect((await buyer.patch(`/tasks/${task.id}`, { tags: [] })).body.task.tags).toEqual([]);
  });
});

describe("among 6,000 tasks", () => {
  const words = ["Translate", "Käännä", "翻译", "Draw", "Écrire", "Test"];
  beforeAll(async () => {
    // Years of tasks, in no order, with tags, statuses and budgets of every frequency; some only among the oldest.
    await service.services.database.query(sql`
      INSERT INTO tasks (buyer_id, title, description, max_budget_cents, tags, status, created_at)
      SELECT ${buyer.id}::uuid, (${words}::text[])[1 + n % 6] || ' ' || md5(n::text)::varchar(5) || CASE WHEN n < 900 THEN ' vintage' ELSE '' END,
             '-', CASE WHEN n < 500 THEN 5000000 + n ELSE 100 + (hashint4(n) & 65535) END,
             ARRAY['Every', 'Seventh' || n % 7, 'few' || n % 1000] || CASE WHEN n < 900 THEN ARRAY['OLD'] ELSE '{}' END
               || CASE WHEN n / 500 % 5 = 0 THEN ARRAY['clumps'] ELSE '{}' END,
             CASE WHEN n % 100 = 0 THEN 'cancelled' ELSE 'open' END,
             '2019-01-01'::timestamptz + n * interval '7 hours' + (n % 13) * interval '11 microseconds'
      FROM generate_series(1, 6000) n ORDER BY hashint4(n)`);
    await service.owner.query(sql`ANALYZE tasks`);
  });

  /** The same question, answered by looking at every row. */
  async function bruteForce({ statuses, tag, query, minBudgetCents, maxBudgetCents, cursor, limit }: TaskSearch) {
    const rows = await service.services.database.query<{ id: string }>(sql`
      SELECT id FROM (SELECT * FROM tasks OFFSET 0) t
      WHERE status = ANY (${[...statuses]}::text[]) AND (${tag ?? null}::text IS NULL OR ${tag ?? null} = ANY (lower(tags::text)::text[]))
        AND (${query ?? null}::text IS NULL OR strpos(lower(title), lower(${query ?? null})) > 0)
        AND max_budget_cents BETWEEN ${minBudgetCents ?? 0} AND ${maxBudgetCents ?? 2_147_483_647}
        AND created_at < ${cursor ?? "infinity"}::timestamptz
      ORDER BY created_at DESC LIMIT ${limit}`);
    return rows.map(({ id }) => id);
  }
  const idsOf = (tasks: TaskListItem[]) => tasks.map(({ id }) => id);

  const statuses: TaskStatus[][] = [["open"], ["cancelled"], ["open", "cancelled"], ["expired"], [...taskStatuses]];
  const tags = [undefined, "every", "seventh3", "few77", "old", "clumps", "none"];
  const queries = [undefined, "va", "vintage", "änn", "翻译", "DRAW", "ra", "zz", "draw c4ca"];
  const budgets = [[], [100, 200], [5_000_000, 5_000_100], [60_000, undefined], [undefined, 1_000], [7, 7]] as const;
  const cursors = [undefined, "2022-01-01T00:00:00Z", "2019-03-01T00:00:00.000011Z", "2018-01-01T00:00:00Z"];

  test("every combination of filters returns exactly the newest matches", async () => {
    const { database } = service.services;
    let index = 0;
    for (const tag of tags) {
      for (const query of queries) {
        for (const [minBudgetCents, maxBudgetCents] of budgets) {
          for (const cursor of [cursors[index % 4], cursors[(index + 2) % 4]]) {
            const chosen = statuses[index++ % statuses.length] ?? ["open"];
            const asked = { statuses: chosen, tag, query, minBudgetCents, maxBudgetCents, cursor, limit: 20 };
            expect(idsOf(await searchTasks(database, asked)), JSON.stringify(asked)).toEqual(await bruteForce(asked));
          }
        }
      }
    }
  });

  test("matches that come evenly or in clumps are all found, however many are asked for from wherever", async () => {
    for (const tag of ["seventh3", "clumps"]) {
      for (const limit of [5, 20, 60, 100]) {
        for (const year of [2020, 2021, 2022, 2023, 2024]) {
          const asked: TaskSearch = { statuses: ["open"], tag, cursor: `${year}-03-01T00:00:00Z`, limit };
          expect(idsOf(await searchTasks(service.services.database, asked)), JSON.stringify(asked)).toEqual(
            await bruteForce(asked),
          );
        }
      }
    }
  });

  test("a sample that says that there are more matches than there are leads to all of them, once each", async () => {
    // All of them are in the sample, and six lie where a share of it is looked for first.
    await service.services.database.query(sql`
      INSERT INTO tasks (id, buyer_id, title, description, max_budget_cents, tags, created_at)
      SELECT id, ${buyer.id}::uuid, 'Sampled', '-', 100, ARRAY['sampled'],
             CASE WHEN n <= 6 THEN '2018-12-10'::timestamptz + n * interval '1 hour'
                  ELSE '2016-06-01'::timestamptz - n * interval '1 day' END
      FROM (SELECT id, row_number() OVER () AS n FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, 20000)) random
            WHERE uuid_hash(id) & 127 = 0 LIMIT 30) sampled`);
    const asked: TaskSearch = { statuses: ["open"], tag: "sampled", cursor: "2019-06-01T00:00:00Z", limit: 100 };
    const found = idsOf(await searchTasks(service.services.database, asked));
    expect(found).toEqual(await bruteForce(asked));
    expect(found).toHaveLength(30);
  });

  /** The plans of the statements that a search runs. */
  async function plansOf(asked: TaskSearch): Promise<string[]> {
    const { database } = service.services;
    const plans: string[] = [];
    const explaining: Connection = {
      async query(statement, options) {
        const lines = await database.query<{ "QUERY PLAN": string }>(sql`EXPLAIN ${statement}`, options);
        plans.push(lines.map((line) => line["QUERY PLAN"]).join("\n"));
        return database.query(statement, options);
      },
    };
    await searchTasks(explaining, asked);
    return plans;
  }

  test("a rare tag is looked up in the inverted index, with its term, and no search reads the whole table", async () => {
    for (const tag of ["few77", "FEW77", "none"]) {
      const plans = await plansOf({ statuses: ["open"], tag, limit: 20 });
      expect(plans.length).toBeGreaterThan(1);
      expect(plans.join("\n")).not.toContain("Seq Scan on tasks");
      const term = await service.services.database.query<{ hash: number }>(
        sql`SELECT hashtext('t' || ${tag.toUpperCase()}) AS hash`,
      );
      expect(plans.at(-1)).toMatch(/Bitmap Index Scan on tasks_search(_sample)?_idx/);
      expect(plans.at(-1)).toContain(`'{${term[0]?.hash}}'::integer[]`);
    }
  });

  test("a long query costs few conditions, and still finds its title", async () => {
    const { database } = service.services;
    const query = "An old one: 27 letters, ÄÖÜ and 翻译, which no other of the 6,000 titles here contains.".slice(
      0,
      80,
    );
    await database.query(sql`
      INSERT INTO tasks (buyer_id, title, description, max_budget_cents, tags, created_at)
      VALUES (${buyer.id}::uuid, ${`${query} Yes.`}, '-', 100, '{}', '2019-02-03')`);
    const conditions: number[] = [];
    const counting: Connection = {
      query: (statement, options) => {
        conditions.push(statement.text.split("@> ARRAY[").length - 1);
        return database.query(statement, options);
      },
    };
    const found = await searchTasks(counting, { statuses: ["open"], query, limit: 20 });
    expect(found.map(({ title }) => title)).toEqual([`${query} Yes.`]);
    expect(Math.max(...conditions)).toBe(12);
  });

  test("a walk by cursor over a filter misses nothing and repeats nothing", async () => {
    for (const filter of ["tag=seventh3", "query=vintage", "minBudget=5000000", "status=open,cancelled"]) {
      const walked: string[] = [];
      for (let cursor: string | null = ""; cursor !== null; ) {
        const page = await rest(service.url, "GET", `/tasks?${filter}&limit=100${cursor && `&cursor=${cursor}`}`);
        walked.push(...idsOf(page.body.tasks));
        cursor = page.body.nextCursor;
      }
      const parameters = new URLSearchParams(filter);
      const all = await bruteForce({
        statuses: filter.startsWith("status") ? ["open", "cancelled"] : ["open"],
        tag: parameters.get("tag") ?? undefined,
        query: parameters.get("query") ?? undefined,
        minBudgetCents: filter.startsWith("min") ? 5_000_000 : undefined,
        limit: 100_000,
      });
      expect(walked).toEqual(all);
    }
  });
});

test("few terms cover a range, without a gap and with little surplus", () => {
  const ranges = [
    [0, 0],
    [5, 4],
    [1, 14],
    [15, 16],
    [3, 1_000],
    [2_000_000, 3_000_000],
    [9_999_990, 2 ** 31 - 1],
  ] as const;
  for (const [from, to] of ranges) {
    const terms = rangeTerms("b", from, to);
    expect(terms.length).toBeLessThanOrEqual(64);
    if (to < from) expect(terms).toEqual([]);
    const spans = spansOf(terms);
    for (const [index, { end }] of spans.entries()) expect(spans[index + 1]?.start ?? end).toBe(end);
    const [first, last] = [spans[0], spans.at(-1)];
    if (!first || !last) continue;
    expect(first.start).toBeLessThanOrEqual(from);
    expect(last.end).toBeGreaterThan(to);
    expect(last.end - first.start).toBeLessThanOrEqual((to - from + 1) * 1.05);
  }
});

/** What each term covers, in order; the end is exclusive. */
const spansOf = (terms: readonly string[]) =>
  terms
    .map((term) => term.slice(1).split(":").map(Number))
    .map(([scale = 0, value = 0]) => ({ start: value * 16 ** scale, end: (value + 1) * 16 ** scale }))
    .sort((a, b) => a.start - b.start);

test("a few terms cover a range of time without a gap", () => {
  const now = 1_735_689_267;
  for (const seconds of [0, 1, 255, 256, 8_948, 65_535, 65_536, 10_000_000, 16 ** 7, 40 * 365 * 86_400]) {
    for (const to of [now, now - (now % 16 ** 5), now - (now % 16 ** 5) - 1]) {
      const from = to - seconds;
      const terms = timeTerms(from, to);
      expect(terms.length).toBeLessThanOrEqual(64);
      const spans = spansOf(terms);
      for (const [index, { end }] of spans.entries()) expect(spans[index + 1]?.start ?? end).toBe(end);
      const [first, last] = [spans[0], spans.at(-1)];
      expect(first?.start).toBeLessThanOrEqual(from);
      expect(last?.end).toBeGreaterThan(to);
      expect(first?.start).toBeGreaterThan(from - 256 - seconds / 16);
      expect(last?.end).toBeLessThanOrEqual(to + 256 + seconds / 16);
    }
  }
});
