import { checkDelivery } from "../../server/market/checks/checkDelivery.ts";
import type { Services } from "../../server/services.ts";
import { type Answer, type Credentials, rest } from "../setup/client.ts";
import type { Reachable } from "../setup/testService.ts";
import type { TestPerson } from "./people.ts";
import { placeBid, postTask, upload } from "./tasks.ts";

/** An API key that may report checks. */
export interface ReportingKey {
  id: string;
  credentials: Credentials;
}

export async function reportingKey(
  { url }: Pick<Reachable, "url">,
  person: TestPerson,
  changes: Record<string, unknown> = {},
): Promise<ReportingKey> {
  const body = { label: "verifier", scopes: ["check:write"], ...changes };
  const answer = await rest(url, "POST", "/keys", { body, credentials: person.session });
  if (answer.status !== 201) throw new Error(`creating a key returned ${answer.status}: ${answer.text}`);
  return { id: answer.body.id, credentials: { authorization: `Bearer ${answer.body.raw}` } };
}

export const sizeCheck = { name: "Short", required: true, kind: "size", maxBytes: 1_000 };
export const externalCheck = (keyId: string, changes: Record<string, unknown> = {}) => ({
  ...{ name: "Tests", required: true, kind: "external", keyId },
  ...changes,
});

interface Agreed {
  checks: object[];
  acceptOnChecks?: { afterMinutes: number } | null;
  revisions?: number;
  priceCents?: number;
}

/** Posts a task with these checks, and awards it. */
export async function awardedWithChecks(buyer: TestPerson, bidder: TestPerson, agreed: Agreed) {
  const { priceCents = 8_000, ...terms } = agreed;
  const task = await postTask(buyer, { ...terms });
  const bid = await placeBid(bidder, task.id, { priceCents });
  const answer = await buyer.post(`/tasks/${task.id}/award`, { bidId: bid.id });
  if (answer.status !== 200) throw new Error(`awarding returned ${answer.status}: ${answer.text}`);
  return { task: answer.body.task, bid };
}

/** Delivers a text and, unless it is to wait, judges it as a worker would. */
export async function deliverJudged(
  services: Services,
  bidder: TestPerson,
  bidId: string,
  { content = "hello, world", judged = true }: { content?: string; judged?: boolean } = {},
) {
  const storageKey = await upload(bidder, bidId, "delivery", content);
  const answer = await bidder.post(`/bids/${bidId}/delivery/finalize`, { storageKey });
  if (answer.status !== 201) throw new Error(`delivering returned ${answer.status}: ${answer.text}`);
  if (judged) await checkDelivery(services, { deliveryId: answer.body.delivery.id });
  return answer.body.delivery;
}

export function report(
  { url }: Pick<Reachable, "url">,
  key: Pick<ReportingKey, "credentials">,
  deliveryId: string,
  changes: Record<string, unknown> = {},
): Promise<Answer> {
  const body = { name: "Tests", conclusion: "passed", ...changes };
  return rest(url, "POST", `/deliveries/${deliveryId}/checks`, { body, credentials: key.credentials });
}
