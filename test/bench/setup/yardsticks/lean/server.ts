import { type BareRequest, type Handlers, serveBare } from "../bareServer.ts";
import { prepared } from "./database.ts";
import { statements } from "./statements.ts";

/**
 * Yardstick 2, what the design costs: `node:http` and `pg` with the leanest tables and statements that do the same job
 * (`schema.ts`). It keeps what a caller relies on: the key decides who calls and what they may do; task, money, entries, event and
 * job commit together; nobody spends what they do not have. It leaves out what the service adds to that: validation, limits,
 * search, reputation, a ledger that checks itself, keys that are watched and revoked, the snapshot of a task's details.
 */
const run = prepared(statements);

async function callerOf({ keyHash }: BareRequest, scope?: string): Promise<string> {
  const [caller] = await run<{ userId: string; scopes: string[] }>("caller", [keyHash]);
  if (caller === undefined || (scope !== undefined && !caller.scopes.includes(scope))) throw new Error("not permitted");
  return caller.userId;
}

function only<Row>([row]: Row[]): Row {
  if (row === undefined) throw new Error("refused");
  return row;
}

const cursorOf = (rows: { createdAt: string }[]) => (rows.length < 50 ? null : rows[49]?.createdAt);
const pageOf = (tasks: { createdAt: string }[]) => ({ tasks, nextCursor: cursorOf(tasks) });

const handlers: Handlers = {
  "GET /tasks": async () => pageOf(await run("firstPage", [])),
  "GET /tasks?cursor": async ({ query }) => pageOf(await run("page", [query.get("cursor")])),
  "GET /tasks/{id}": async (request) => {
    const userId = await callerOf(request);
    const { buyerId, ...task } = only(await run<{ buyerId: string; status: string }>("task", [request.ids[0]]));
    const bids = await run("bidsOf", [request.ids[0], userId]);
    const mayBid = task.status === "open" && buyerId !== userId && bids.length === 0;
    return { task, availableActions: mayBid ? ["bids.place"] : [], bids };
  },
  "GET /wallet/ledger?cursor": async (request) => {
    const userId = await callerOf(request);
    const entries = await run<{ createdAt: string }>("entries", [userId, request.query.get("cursor")]);
    return { entries, nextCursor: cursorOf(entries) };
  },
  "POST /tasks": async (request) => {
    const userId = await callerOf(request, "task:write");
    const { title, description, acceptanceCriteria, maxBudgetCents, tags } = request.body;
    const values = [userId, title, description, acceptanceCriteria, maxBudgetCents, tags];
    return { task: only(await run("createTask", values)) };
  },
  "POST /tasks/{id}/bids": async (request) => {
    const userId = await callerOf(request, "bid:write");
    const { priceCents, etaHours, notes } = request.body;
    return { bid: only(await run("placeBid", [request.ids[0], userId, priceCents, etaHours, notes])) };
  },
};
serveBare(handlers);
