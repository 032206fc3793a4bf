import { type BareRequest, type Handlers, serveBare } from "../bareServer.ts";
import { newStorageKey, seal, signDownload, signUpload } from "../files.ts";
import { accept, award, createTask, deliver, placeBid } from "./changes.ts";
import { databaseOf, only } from "./database.ts";
import { statements } from "./statements.ts";

/**
 * Yardstick 2, what the design costs: `node:http` and `pg` with the leanest tables and statements that do the same job
 * (`schema.ts`). It keeps what a caller relies on: the key decides who calls and what they may do; task, money, entries, event and
 * job commit together; nobody spends what they do not have. It leaves out what the service adds to that: validation, limits,
 * search, reputation, a ledger that checks itself, keys that are watched and revoked, the snapshot of a task's details.
 */
const { run, transaction } = databaseOf(statements);

async function callerOf({ keyHash }: BareRequest, scope?: string): Promise<string> {
  const [caller] = await run<{ userId: string; scopes: string[] }>("caller", [keyHash]);
  if (caller === undefined || (scope !== undefined && !caller.scopes.includes(scope))) throw new Error("not permitted");
  return caller.userId;
}

const cursorOf = (rows: { createdAt: string }[]) => (rows.length < 50 ? null : rows[49]?.createdAt);
const pageOf = (tasks: { createdAt: string }[]) => ({ tasks, nextCursor: cursorOf(tasks) });

interface FoundTask {
  buyerId: string;
  status: string;
  fileCount: number;
  questionCount: number;
}

const handlers: Handlers = {
  "GET /tasks": async () => pageOf(await run("firstPage", [])),
  "GET /tasks?cursor": async ({ query }) => pageOf(await run("page", [query.get("cursor")])),
  "GET /tasks/{id}": async (request) => {
    const userId = await callerOf(request);
    const { buyerId, fileCount, questionCount, ...task } = only(await run<FoundTask>("task", [request.ids[0]]));
    const files = fileCount === 0 ? [] : await run("filesOf", [request.ids[0]]);
    const bids = await run("bidsOf", [request.ids[0], userId]);
    const mayBid = task.status === "open" && buyerId !== userId && bids.length === 0;
    const availableActions = mayBid ? ["bids.place"] : [];
    return { task, fileCount, questionCount, availableActions, bids, files };
  },
  "GET /wallet/ledger?cursor": async (request) => {
    const userId = await callerOf(request);
    const entries = await run<{ createdAt: string }>("entries", [userId, request.query.get("cursor")]);
    return { entries, nextCursor: cursorOf(entries) };
  },
  "POST /tasks": async (request) => {
    const userId = await callerOf(request, "task:write");
    const { title, description, acceptanceCriteria, maxBudgetCents, tags } = request.body;
    const fields = [title, description, acceptanceCriteria, maxBudgetCents, tags];
    return transaction((run) => createTask(run, userId, fields, maxBudgetCents));
  },
  "POST /tasks/{id}/bids": async (request) => {
    const userId = await callerOf(request, "bid:write");
    const { priceCents, etaHours, notes } = request.body;
    const [taskId = ""] = request.ids;
    return transaction((run) => placeBid(run, taskId, userId, [priceCents, etaHours, notes]));
  },
  "POST /tasks/{id}/award": async (request) => {
    const userId = await callerOf(request, "task:write");
    const [taskId = ""] = request.ids;
    return transaction((run) => award(run, taskId, request.body.bidId, userId));
  },
  "POST /bids/{id}/delivery/init": async (request) => {
    const userId = await callerOf(request, "bid:write");
    const [bidId = ""] = request.ids;
    const { mimeType, bytes, fileName } = request.body;
    const storageKey = newStorageKey(bidId);
    only(await run("startUpload", [bidId, userId, storageKey, mimeType, bytes, fileName]));
    return { uploadUrl: await signUpload(storageKey, request.body), storageKey };
  },
  "POST /bids/{id}/delivery/finalize": async (request) => {
    const userId = await callerOf(request, "bid:write");
    const [[bidId = ""], { storageKey }] = [request.ids, request.body];
    const declared = only(await run<{ bytes: number }>("findUpload", [bidId, userId, storageKey]));
    const sealed = await seal(storageKey);
    if (sealed.bytes !== declared.bytes) throw new Error("the file has another size");
    const { delivery, task } = await transaction((run) => deliver(run, bidId, userId, storageKey, sealed.storageKey));
    const downloadUrl = await signDownload(sealed.storageKey);
    const { acceptanceDeadlineAt } = task;
    return { delivery: { ...delivery, sha256: sealed.sha256, downloadUrl }, task: { acceptanceDeadlineAt } };
  },
  "POST /tasks/{id}/accept": async (request) => {
    const userId = await callerOf(request, "task:write");
    const [taskId = ""] = request.ids;
    return transaction((run) => accept(run, taskId, userId));
  },
};
serveBare(handlers);
