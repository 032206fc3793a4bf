import { hashSecret } from "../../server/auth/secretHash.ts";
import { sql } from "../../server/store/connection.ts";
import type { Database } from "../../server/store/database.ts";
import { awardedWithChecks, externalCheck, reportingKey } from "../factories/checks.ts";
import type { TestPerson } from "../factories/people.ts";
import { deliver, taskInput, upload } from "../factories/tasks.ts";
import { type Credentials, rest } from "../setup/client.ts";

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

/** The id of the API key that these credentials are; null once it is revoked. */
export async function findKeyId(database: Database, { authorization }: Credentials): Promise<string | null> {
  const keyHash = hashOf(authorization);
  const [key] = await database.query<{ id: string }>(
    sql`SELECT id FROM api_keys WHERE key_hash = ${keyHash} AND revoked_at IS NULL`,
  );
  return key?.id ?? null;
}

/** Makes one key report the checks that another one reported. */
export async function passOnChecks(database: Database, from: Credentials, to: Credentials): Promise<void> {
  await database.query(sql`
    UPDATE tasks SET check_keys = jsonb_build_object('Tests', next.id)
    FROM api_keys last, api_keys next
    WHERE last.key_hash = ${hashOf(from.authorization)} AND next.key_hash = ${hashOf(to.authorization)}
      AND tasks.check_keys ->> 'Tests' = last.id::text`);
}

const hashOf = (authorization = "") => hashSecret(authorization.slice("Bearer ".length));
