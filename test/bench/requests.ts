import { generateApiKey } from "../../server/auth/apiKeys.ts";
import type { Bench } from "./setup/bench.ts";
import { compareSides, type Row } from "./setup/requests/compare.ts";
import { compareLifecycles } from "./setup/requests/lifecycles.ts";
import { startSides } from "./setup/requests/sides.ts";

const TASKS = 1_000_000;
const CONNECTIONS = 16;
const MANY_CONNECTIONS = 256;
const SAVINGS = 100_000;

const keys = (count: number) => Array.from({ length: count }, generateApiKey);
const million = (count: number) => count.toLocaleString("en");
const rpcPath = (procedure: string, input: object) =>
  `/trpc/${procedure}?input=${encodeURIComponent(JSON.stringify(input))}`;

/**
 * Requests a second, of the service against three servers that do the same job: a bare handler with the service's SQL, one with
 * the leanest tables and statements, and the way somebody would write it by the book.
 */
const bench: Bench = async (environment) => {
  const tasks = Number(process.env.BENCH_TASKS ?? TASKS);
  const callers = keys(CONNECTIONS);
  const savers = keys(CONNECTIONS);
  const { sides, storePort } = await startSides(environment, {
    tasks,
    people: 1_000,
    callers,
    savers,
    savings: SAVINGS,
  });

  const as = (key: string) => ({ Authorization: `Bearer ${key}`, "Content-Type": "application/json" });
  const newTask = {
    title: "Translate a page",
    description: "From English to Finnish, in plain words.",
    maxBudgetCents: 100,
    tags: ["translation", "finnish"],
  };
  const newBid = { priceCents: 90, etaHours: 24, notes: "I have done twenty of these." };
  const pageCount = Math.floor((tasks * 0.75) / 50) - 2;
  const rows: Row[] = [
    {
      ...{ what: `GET /tasks, 50 of ${million(tasks)}, distinct pages, ${CONNECTIONS} connections` },
      load: { method: "GET", path: "/tasks?cursor=__page__", headers: callers.map(() => ({})), modulo: pageCount },
      rpc: { path: rpcPath("tasks.list", { cursor: "__page__" }) },
      targets: { ourSql: 0.65, lean: 0.6, plain: 2 },
    },
    {
      ...{ what: `GET /tasks, the front page, ${MANY_CONNECTIONS} connections` },
      load: { method: "GET", path: "/tasks", headers: Array.from({ length: MANY_CONNECTIONS }, () => ({})) },
      targets: { ourSql: 1.5, lean: 1.3, plain: 4 },
    },
    {
      ...{ what: "GET /tasks/[id], with a key" },
      load: { method: "GET", path: "/tasks/__task__", headers: callers.map(as), modulo: tasks / 2 },
      rpc: { path: rpcPath("tasks.read", { id: "__task__" }) },
      targets: { ourSql: 0.65, lean: 0.55, plain: 1.5 },
    },
    {
      ...{ what: `GET /wallet/ledger, 50 of ${million(SAVINGS)}, with a key` },
      load: {
        ...{ method: "GET", path: "/wallet/ledger?cursor=__entries__", headers: savers.map(as) },
        modulo: SAVINGS / 50 - 2,
      },
      rpc: { path: rpcPath("wallet.ledger", { cursor: "__entries__" }) },
      targets: { ourSql: 0.75, lean: 0.7, plain: 2 },
    },
    {
      ...{ what: "POST /tasks, with hold, event and job" },
      load: { method: "POST", path: "/tasks", headers: callers.map(as), body: JSON.stringify(newTask) },
      rpc: { path: "/trpc/tasks.create" },
      targets: { ourSql: 0.7, lean: 0.6, plain: 2 },
    },
    {
      ...{ what: "POST /tasks/[id]/bids" },
      load: { method: "POST", path: "/tasks/__task__/bids", headers: callers.map(as), body: JSON.stringify(newBid) },
      rpc: { path: "/trpc/bids.place", body: JSON.stringify({ id: "__task__", ...newBid }) },
      targets: { ourSql: 0.7, lean: 0.55, plain: 2 },
    },
  ];
  return [
    ...(await compareSides(environment, sides, rows)),
    ...(await compareLifecycles(environment, sides, { storePort, keys: callers })),
  ];
};
export default bench;
