import { meQuery } from "../api/queries.ts";
import { queryClient } from "../api/queryClient.ts";

/** What an app asks for. Source: docs/contract.md "Connected apps". */
export interface AskedConsent {
  client: { id: string; name: string; domain: string };
  resource: "api" | "mcp";
  /** Null for a device, which is led nowhere. */
  redirectHost: string | null;
  scopes: { scope: string; words: string }[];
  defaults: { spendLimitCents: number; askAboveCents: number; endsAfterDays: number };
}

export type ConsentDecision =
  | { decision: "deny" }
  | { decision: "allow"; spendLimitCents: number; askAboveCents: number; endsAfterDays: number };

/** A consent has its own endpoints, because OAuth is no part of the typed API. */
async function ask<Answer>(path: string, body?: ConsentDecision): Promise<Answer> {
  const answer = await fetch(path, {
    method: body === undefined ? "GET" : "POST",
    headers: { accept: "application/json", ...(body && { "content-type": "application/json" }) },
    ...(body && { body: JSON.stringify(body) }),
  }).catch(() => null);
  if (answer === null) throw new Error("The service cannot be reached. Check your connection and try again.");
  if (answer.status === 401) await queryClient.invalidateQueries(meQuery);
  const sent = await answer.json();
  if (!answer.ok) throw new Error(sent.issues?.[0]?.message ?? sent.message);
  return sent;
}

const pathOf = (uid: string) => `/oauth/consent/${encodeURIComponent(uid)}`;
const devicePathOf = (userCode: string) => `/oauth/devices/${encodeURIComponent(userCode)}`;

export const consents = {
  read: (uid: string) => ask<AskedConsent>(pathOf(uid)),
  decide: (uid: string, decision: ConsentDecision) => ask<{ location: string }>(pathOf(uid), decision),
  readDevice: (userCode: string) => ask<AskedConsent>(devicePathOf(userCode)),
  decideDevice: (userCode: string, decision: ConsentDecision) =>
    ask<Record<string, never>>(devicePathOf(userCode), decision),
};
