import { awardedWithChecks, externalCheck, reportingKey } from "../factories/checks.ts";
import type { TestPerson } from "../factories/people.ts";
import { deliver, taskInput, upload } from "../factories/tasks.ts";
import { rest } from "../setup/client.ts";

/** Two values that only together name what is there, at a path. */
export interface Pair {
  path: string;
  first: string;
  second: string;
}

/** What an API key asks its owner for, and how each would approve what they have seen. */
export async function askForApprovals(url: string, owner: TestPerson): Promise<{ records: object[]; pairs: Pair[] }> {
  // A user has so many keys at most.
  const { keys } = (await owner.get("/keys")).body;
  const olds = keys.filter(({ label }: { label: string }) => label === "asks");
  for (const old of olds) await owner.delete(`/keys/${old.id}`);
  const limits = { label: "asks", scopes: ["task:write"], approval: { aboveCents: 0 } };
  const { body: key } = await owner.post("/keys", limits);
  const records: object[] = [];
  const pairs: Pair[] = [];
  for (const title of ["To be approved", "To be declined"]) {
    const body = taskInput({ title, maxBudgetCents: 100 });
    const asked = await rest(url, "POST", "/tasks", { body, credentials: { authorization: `Bearer ${key.raw}` } });
    const { approval } = (await owner.get(`/approvals/${asked.body.approval.id}`)).body;
    records.push({ approval });
    pairs.push({ path: "/approvals/{id}/approve", first: approval.id, second: approval.version });
  }
  return { records, pairs };
}

/** A delivery that a key may report about, a check whose key has ended, and a file that can be tried. */
export async function agreeOnChecks(
  url: string,
  buyer: TestPerson,
  bidder: TestPerson,
  buyersKeyId: string,
): Promise<Pair[]> {
  const reported = await awardedWithChecks(buyer, bidder, { checks: [externalCheck(buyersKeyId)] });
  const delivery = await deliver(bidder, reported.bid.id);
  const ended = await reportingKey({ url }, buyer);
  const orphaned = await awardedWithChecks(buyer, bidder, { checks: [externalCheck(ended.id)] });
  await buyer.delete(`/keys/${ended.id}`);
  const storageKey = await upload(bidder, orphaned.bid.id, "delivery");
  return [
    { path: "/deliveries/{id}/checks", first: delivery.id, second: "Tests" },
    { path: "/tasks/{id}/checks/key", first: orphaned.task.id, second: buyersKeyId },
    { path: "/bids/{id}/delivery/preflight", first: orphaned.bid.id, second: storageKey },
  ];
}
