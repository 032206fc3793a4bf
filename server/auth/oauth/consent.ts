import { z } from "zod";
import { ApiError } from "../../errors.ts";
import type { Clock } from "../../gateways/clock.ts";
import { MAX_INT32 } from "../../schemas/common.ts";
import { type Scope, scopeWords } from "../../schemas/scope.ts";
import type { Database, Transaction } from "../../store/database.ts";
import { lockCaller } from "../callerLock.ts";
import type { Principal } from "../principal.ts";
import type { SecurityLog } from "../securityLog.ts";
import { hostOf, type ShownClient } from "./clients.ts";
import { insertGrant } from "./grants.ts";
import type { Resource } from "./resources.ts";

/** What an app asks a person for. */
export interface AskedGrant {
  client: ShownClient;
  resource: Resource;
  scopes: readonly Scope[];
  /** Where the person is led afterwards; null for a device, which learns it by asking. */
  redirectUri: string | null;
}

/** A consent as the page shows it. With its defaults an app reads, and moves nothing. */
export function describeConsent({ client, resource, scopes, redirectUri }: AskedGrant) {
  return {
    client,
    resource,
    redirectHost: redirectUri === null ? null : hostOf(redirectUri),
    scopes: scopes.map((scope) => ({ scope, words: scopeWords[scope] })),
    defaults: { spendLimitCents: 0, askAboveCents: 0, endsAfterDays: 90 },
  };
}

const MAX_DAYS = 365;

/** What the page sends back. */
export const Decision = z.discriminatedUnion("decision", [
  z.strictObject({ decision: z.literal("deny") }),
  z.strictObject({
    decision: z.literal("allow"),
    spendLimitCents: z.int().min(0).max(MAX_INT32),
    askAboveCents: z.int().min(0).max(MAX_INT32),
    endsAfterDays: z.int().min(1).max(MAX_DAYS),
  }),
]);
export type Allowed = Extract<z.infer<typeof Decision>, { decision: "allow" }>;

/** What a consent needs of a request's context. */
export interface ConsentContext {
  principal: Principal | null;
  database: Database;
  clock: Clock;
  securityLog: SecurityLog;
  client: { address: string; userAgent: string | null };
  requestId: string;
}

/** Consents are given in a session of a person's own; an agent cannot let in another. */
export function assertSession({ principal }: ConsentContext): Extract<Principal, { kind: "session" }> {
  if (principal === null) throw new ApiError("unauthenticated");
  if (principal.kind !== "session") throw new ApiError("forbidden");
  return principal;
}

/** Inserts the grant that a person allows, and returns its id. `then` runs in the same transaction. */
export function allow(
  context: ConsentContext,
  asked: AskedGrant,
  given: Allowed,
  then: (tx: Transaction, grantId: string) => Promise<void> = async () => {},
): Promise<string> {
  const { database, clock, securityLog } = context;
  const principal = assertSession(context);
  const { userId } = principal;
  return database.transaction(async (tx) => {
    await lockCaller(tx, principal);
    const now = clock.now();
    const endsAt = new Date(now.getTime() + given.endsAfterDays * 86_400_000);
    const grant = { ...asked, ...given, userId, endsAt };
    const key = await insertGrant(tx, grant, now);
    tx.events.record("key.created", { key }, [userId]);
    tx.onCommit(() => securityLog.record(context, "key.created", { createdKeyId: key.id, scopes: key.scopes }));
    await then(tx, key.id);
    return key.id;
  });
}
