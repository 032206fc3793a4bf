import { openTaskAt, taskIdOf, timeOf } from "../seed/identities.ts";
import type { MarketSize } from "../seed/market.ts";
import type { Ask, Recordable } from "../yardsticks/ourSql/record.ts";

const task = { title: "A task", description: "To be done.", maxBudgetCents: 100, tags: ["translation", "finnish"] };
const bid = { priceCents: 90, etaHours: 24, notes: "Soon." };

/** The operations of the table. Bids go to the oldest tasks, which the loads never reach. */
export function recordables({ tasks, callers, savers }: MarketSize): Recordable[] {
  const [caller, saver] = [callers[0], savers[0]];
  if (caller === undefined || saver === undefined) throw new Error("there are no callers");
  const oldTask = (number: number) => taskIdOf(openTaskAt(Math.floor(tasks / 2) + number));
  return [
    { operation: "GET /tasks", request: () => ({ path: "/tasks" }) },
    {
      operation: "GET /tasks?cursor",
      request: (number) => ({ path: `/tasks?cursor=${timeOf(openTaskAt(number * 50))}` }),
    },
    {
      operation: "GET /tasks/{id}",
      request: (number) => ({ path: `/tasks/${oldTask(number)}`, key: caller }),
    },
    {
      operation: "GET /wallet/ledger?cursor",
      request: (number) => ({ path: `/wallet/ledger?cursor=${timeOf(number * 50 + 1)}`, key: saver }),
    },
    { operation: "POST /tasks", request: () => ({ path: "/tasks", key: caller, body: task }) },
    {
      operation: "POST /tasks/{id}/bids",
      request: (number) => ({ path: `/tasks/${oldTask(number)}/bids`, key: caller, body: bid }),
    },
    ...lifecycle(callers),
  ];
}

const ids = (output: Record<string, unknown>, record: string) => (output[record] as { id: string }).id;

/** The rest of a lifecycle. Each recording has a task of its own, with three bids. */
function lifecycle([buyer = "", ...bidders]: readonly string[]): Recordable[] {
  const [bidder = ""] = bidders;
  const open = async (ask: Ask) => {
    const taskId = ids(await ask({ path: "/tasks", key: buyer, body: task }), "task");
    const bids: string[] = [];
    for (const key of bidders.slice(0, 3)) {
      bids.push(ids(await ask({ path: `/tasks/${taskId}/bids`, key, body: bid }), "bid"));
    }
    return { taskId, bidId: bids[0] ?? "" };
  };
  const award = async (ask: Ask) => {
    const { taskId, bidId } = await open(ask);
    await ask({ path: `/tasks/${taskId}/award`, key: buyer, body: { bidId } });
    return { taskId, bidId };
  };
  const content = "Done.";
  const file = { mimeType: "text/plain", bytes: content.length, fileName: "page.txt" };
  const upload = async (ask: Ask) => {
    const { taskId, bidId } = await award(ask);
    const started = await ask({ path: `/bids/${bidId}/delivery/init`, key: bidder, body: file });
    const headers = { "Content-Type": "text/plain" };
    await fetch(String(started.uploadUrl), { method: "PUT", headers, body: content });
    return { taskId, bidId, storageKey: String(started.storageKey) };
  };
  return [
    {
      operation: "POST /tasks/{id}/award",
      async request(_, ask) {
        const { taskId, bidId } = await open(ask);
        return { path: `/tasks/${taskId}/award`, key: buyer, body: { bidId } };
      },
    },
    {
      operation: "POST /bids/{id}/delivery/init",
      ownFields: ["uploadUrl"],
      request: async (_, ask) => ({
        path: `/bids/${(await award(ask)).bidId}/delivery/init`,
        ...{ key: bidder, body: file },
      }),
    },
    {
      operation: "POST /bids/{id}/delivery/finalize",
      ownFields: ["delivery"],
      async request(_, ask) {
        const { bidId, storageKey } = await upload(ask);
        return { path: `/bids/${bidId}/delivery/finalize`, key: bidder, body: { storageKey } };
      },
    },
    {
      operation: "POST /tasks/{id}/accept",
      async request(_, ask) {
        const { taskId, bidId, storageKey } = await upload(ask);
        await ask({ path: `/bids/${bidId}/delivery/finalize`, key: bidder, body: { storageKey } });
        return { path: `/tasks/${taskId}/accept`, key: buyer, body: {} };
      },
    },
  ];
}
