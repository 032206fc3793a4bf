import { lockCaller } from "../../auth/callerLock.ts";
import type { Principal } from "../../auth/principal.ts";
import { ApiError } from "../../errors.ts";
import { ProcessorRefused, ProcessorUnavailable } from "../../gateways/processorErrors.ts";
import type { Services } from "../../services.ts";
import { type Connection, sql } from "../../store/connection.ts";
import { ageOfKey } from "./rules.ts";

/** The connected account that a user's payouts go to. `accountId` is null until the processor has created it. */
interface PayoutAccount {
  userId: string;
  accountId: string | null;
  active: boolean;
}

const columns = sql`user_id AS "userId", account_id AS "accountId", active`;

export async function findPayoutAccount(connection: Connection, userId: string): Promise<PayoutAccount | null> {
  const [account] = await connection.query<PayoutAccount>(sql`
    SELECT ${columns} FROM payout_accounts WHERE user_id = ${userId}::uuid`);
  return account ?? null;
}

/**
 * Returns the id of the user's connected account, and creates it at the processor if there is none. The row with the
 * idempotency key and the parameters is stored first, so parallel calls, and calls after a crash, repeat the very same
 * call and create one account. Once the processor may have forgotten the key, an existing account is looked up instead.
 * Throws ProcessorUnavailable, ProcessorRefused, or
 * `unauthenticated` if the caller's session has ended.
 */
export async function ensurePayoutAccount(services: Services, caller: Principal): Promise<string> {
  const { database, processor, clock } = services;
  const { userId } = caller;
  const now = clock.real(); // how old the key is at the processor
  if ((await findPayoutAccount(database, userId)) === null) {
    await database.transaction(async (tx) => {
      await lockCaller(tx, caller);
      await tx.query(sql`
        INSERT INTO payout_accounts (user_id, idempotency_key, key_created_at, email, display_name)
        SELECT id, ${newKey()}, ${now.toISOString()}::timestamptz, email, display_name FROM users
        WHERE id = ${userId}::uuid
        ON CONFLICT (user_id) DO NOTHING`);
    });
  }
  const [row] = await database.query<{
    accountId: string | null;
    idempotencyKey: string;
    keyCreatedAt: string;
    email: string;
    displayName: string;
    createdAt: string;
  }>(sql`
    SELECT account_id AS "accountId", idempotency_key AS "idempotencyKey", key_created_at AS "keyCreatedAt", email,
           display_name AS "displayName", created_at AS "createdAt"
    FROM payout_accounts WHERE user_id = ${userId}::uuid`);
  if (!row) throw new ApiError("unauthenticated"); // A new password has just taken it away.
  if (row.accountId !== null) return row.accountId;
  const { email, displayName, idempotencyKey } = row;
  const keyAge = ageOfKey(new Date(row.keyCreatedAt), now);
  if (keyAge !== "fresh") {
    const found = await processor.findAccount(userId, new Date(row.createdAt));
    if (found !== null) return storeAccountId(database, userId, found.accountId);
    if (keyAge === "stale") throw new ProcessorUnavailable("An earlier call may still create the account.");
    await renewParameters(services, userId, idempotencyKey);
    return ensurePayoutAccount(services, caller);
  }
  try {
    const { accountId } = await processor.createAccount({ userId, email, displayName, idempotencyKey });
    return await storeAccountId(database, userId, accountId);
  } catch (error) {
    if (error instanceof ProcessorRefused) await renewParameters(services, userId, idempotencyKey);
    // The processor refuses with "in progress" while a parallel call uses the same key: wait for that call's account.
    const created = error instanceof ProcessorUnavailable ? await waitForAccount(services, userId) : null;
    if (created === null) throw error;
    return created;
  }
}

async function storeAccountId(connection: Connection, userId: string, accountId: string): Promise<string> {
  const [row] = await connection.query<{ accountId: string }>(sql`
    UPDATE payout_accounts SET account_id = coalesce(account_id, ${accountId}), updated_at = service_now()
    WHERE user_id = ${userId}::uuid RETURNING account_id AS "accountId"`);
  if (!row) throw new ApiError("unauthenticated"); // A new password has taken it away meanwhile.
  return row.accountId;
}

const newKey = () => `account-${crypto.randomUUID()}`;

/** Replaces a key that created nothing, so that the next call has a new key and the user's current profile. */
async function renewParameters({ database, clock }: Services, userId: string, usedKey: string): Promise<void> {
  await database.query(sql`
    UPDATE payout_accounts a SET idempotency_key = ${newKey()}, key_created_at = ${clock.real().toISOString()}::timestamptz,
      email = u.email, display_name = u.display_name, updated_at = service_now()
    FROM users u WHERE u.id = a.user_id AND a.user_id = ${userId}::uuid AND a.idempotency_key = ${usedKey}
      AND a.account_id IS NULL`);
}

const WAIT_FOR_PARALLEL_CALL_MS = 2_000;

/** Returns the account id that a parallel call stores, or null if none does within 2 seconds. */
async function waitForAccount({ database }: Services, userId: string): Promise<string | null> {
  const deadline = Date.now() + WAIT_FOR_PARALLEL_CALL_MS;
  while (Date.now() < deadline) {
    const account = await findPayoutAccount(database, userId);
    if (account?.accountId) return account.accountId;
    await new Promise((resume) => setTimeout(resume, 50));
  }
  return null;
}

/**
 * Fetches an account's state and stores it. If another process writes a state in the meantime, ours may be the older
 * one, so it is fetched again. At most once: a second write by others was fetched after this call began, so it is
 * current. Returns the current state, or null if the account is not ours. Throws ProcessorUnavailable or
 * ProcessorRefused.
 */
export async function syncPayoutAccount(
  { database, processor }: Services,
  accountId: string,
): Promise<{ active: boolean } | null> {
  let firstRevision: number | undefined;
  for (;;) {
    const [row] = await database.query<{ revision: number; active: boolean }>(sql`
      SELECT revision, active FROM payout_accounts WHERE account_id = ${accountId}`);
    if (!row) return null;
    firstRevision ??= row.revision;
    if (row.revision >= firstRevision + 2) return { active: row.active };
    const { transfersActive, payoutsActive } = await processor.getAccount(accountId);
    const active = transfersActive && payoutsActive;
    const written = await database.query(sql`
      UPDATE payout_accounts SET active = ${active}, revision = revision + 1, updated_at = service_now()
      WHERE account_id = ${accountId} AND revision = ${row.revision} RETURNING revision`);
    if (written.length > 0) return { active };
  }
}
