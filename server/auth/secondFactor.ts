import { ApiError } from "../errors.ts";
import type { Clock } from "../gateways/clock.ts";
import { type Connection, join, NIL_UUID, queryOne, sql } from "../store/connection.ts";
import type { Transaction } from "../store/database.ts";
import { endSessions } from "./sessions.ts";
import { decryptSecret, encryptSecret, generateRecoveryCodes, hashRecoveryCode, stepOfCode } from "./totp.ts";

/** What the second factor depends on besides the database. */
interface FactorServices {
  readonly clock: Pick<Clock, "now" | "real">;
  /** The newest first: it encrypts, and each of them decrypts. */
  readonly settings: { readonly sessionSecrets: readonly string[] };
}

/** From the fifth wrong code on, each further one has to wait, twice as long each time, up to an hour. */
const FREE_ATTEMPTS = 5;
const FIRST_PAUSE_SECONDS = 60;
const MAX_PAUSE_SECONDS = 3_600;

const isTotpCode = (code: string) => /^\d{6}$/.test(code);
/** Authenticator apps show the digits in two groups, and people copy the blank between them. */
const withoutBlanks = (code: string) => code.replace(/\s/g, "");

/** True if the user has confirmed a second factor, which a login then needs. */
export async function hasSecondFactor(connection: Connection, userId: string): Promise<boolean> {
  const found = await connection.query(sql`
    SELECT 1 FROM totp_factors WHERE user_id = ${userId}::uuid AND confirmed_at IS NOT NULL`);
  return found.length > 0;
}

/**
 * Counts an attempt before the code is checked, in a transaction of its own, so that parallel guesses all count. A right
 * code sets the count back. Throws `rate_limited` while the account has to wait. Recovery codes are not counted: nobody
 * guesses 120 bits, and whoever owns the account must be able to get in while somebody else guesses.
 */
export async function countCodeAttempt(
  connection: Connection,
  { clock }: FactorServices,
  userId: string,
  code: string,
): Promise<void> {
  if (!isTotpCode(withoutBlanks(code))) return;
  const now = clock.real();
  const nowSql = sql`${now.toISOString()}::timestamptz`;
  const doublings = sql`least(attempts + 1 - ${FREE_ATTEMPTS}, 10)`;
  const counted = await connection.query(sql`
    UPDATE totp_factors SET attempts = attempts + 1, next_attempt_at = CASE
      WHEN attempts + 1 < ${FREE_ATTEMPTS} THEN next_attempt_at
      ELSE ${nowSql} + make_interval(secs => least(${FIRST_PAUSE_SECONDS} * 2 ^ ${doublings}, ${MAX_PAUSE_SECONDS})) END
    WHERE user_id = ${userId}::uuid AND confirmed_at IS NOT NULL AND next_attempt_at <= ${nowSql} RETURNING 1`);
  if (counted.length > 0) return;
  const [waiting] = await connection.query<{ nextAttemptAt: string }>(sql`
    SELECT next_attempt_at AS "nextAttemptAt" FROM totp_factors
    WHERE user_id = ${userId}::uuid AND confirmed_at IS NOT NULL AND next_attempt_at > ${nowSql}`);
  if (!waiting) return; // There is no factor, or it has just accepted a code.
  throw new ApiError("rate_limited", {
    message: "Too many wrong codes. Wait for the seconds in `Retry-After`, or send a recovery code.",
    retryAfterSeconds: Math.ceil((Date.parse(waiting.nextAttemptAt) - now.getTime()) / 1000),
  });
}

/**
 * Accepts a code of the user's second factor, once: of parallel requests with one code, one gets through. Does nothing for a
 * user without a confirmed factor. Throws `second_factor_required` for a missing, wrong or used code.
 */
export async function assertSecondFactor(
  tx: Transaction,
  services: FactorServices,
  userId: string,
  code: string | undefined,
): Promise<void> {
  if (!(await hasSecondFactor(tx, userId))) return;
  const accepted =
    code !== undefined &&
    (isTotpCode(withoutBlanks(code))
      ? await acceptTotp(tx, services, userId, withoutBlanks(code))
      : await useRecoveryCode(tx, userId, code));
  if (!accepted) throw new ApiError("second_factor_required");
}

/**
 * Accepts a code of the confirmed or pending secret, and remembers its time step. A secret that was encrypted with an older
 * session secret is encrypted again with the newest, so that the older one can be retired.
 */
async function acceptTotp(tx: Transaction, services: FactorServices, userId: string, code: string): Promise<boolean> {
  const { sessionSecrets } = services.settings;
  const [factor] = await tx.query<{ encrypted: string }>(sql`
    SELECT sealed_secret AS encrypted FROM totp_factors WHERE user_id = ${userId}::uuid FOR NO KEY UPDATE`);
  const decrypted = factor ? await decryptSecret(factor.encrypted, userId, sessionSecrets) : null;
  if (decrypted === null) return false;
  const step = stepOfCode(decrypted.secret, code, services.clock.real());
  if (step === null) return false;
  const changes = [
    sql`last_step = ${step}::bigint`,
    sql`attempts = 0`,
    sql`next_attempt_at = '-infinity'`,
    ...(decrypted.isCurrent
      ? []
      : [sql`sealed_secret = ${await encryptSecret(decrypted.secret, userId, sessionSecrets)}`]),
  ];
  const accepted = await tx.query(sql`
    UPDATE totp_factors SET ${join(changes)} WHERE user_id = ${userId}::uuid AND last_step < ${step}::bigint RETURNING 1`);
  return accepted.length > 0;
}

async function useRecoveryCode(tx: Transaction, userId: string, code: string): Promise<boolean> {
  const used = await tx.query(sql`
    DELETE FROM recovery_codes WHERE user_id = ${userId}::uuid AND code_hash = ${hashRecoveryCode(code)} RETURNING 1`);
  return used.length > 0;
}

/**
 * Stores a new secret that waits for its first code, in place of an earlier one that waited, and returns its id. Throws
 * `second_factor_exists`.
 */
export async function addPendingFactor(
  tx: Transaction,
  services: FactorServices,
  userId: string,
  secret: string,
): Promise<string> {
  const encrypted = await encryptSecret(secret, userId, services.settings.sessionSecrets);
  const [factor] = await tx.query<{ id: string }>(sql`
    INSERT INTO totp_factors AS f (user_id, sealed_secret) VALUES (${userId}::uuid, ${encrypted})
    ON CONFLICT (user_id) DO UPDATE
    SET id = DEFAULT, sealed_secret = excluded.sealed_secret, created_at = DEFAULT
    WHERE f.confirmed_at IS NULL RETURNING id`);
  if (!factor) throw new ApiError("second_factor_exists");
  return factor.id;
}

/**
 * Confirms the pending factor by its first code and returns its id with new recovery codes, of which only hashes are
 * stored. The session in which this happens has proved the factor; the user's other sessions end. Throws `not_found`
 * without a pending factor, and `invalid_input` for a wrong code.
 */
export async function confirmFactor(
  tx: Transaction,
  services: FactorServices,
  { userId, sessionId, code }: { userId: string; sessionId: string; code: string },
): Promise<{ id: string; recoveryCodes: string[] }> {
  const [pending] = await tx.query(sql`
    SELECT 1 FROM totp_factors WHERE user_id = ${userId}::uuid AND confirmed_at IS NULL FOR NO KEY UPDATE`);
  if (!pending) throw new ApiError("not_found", { message: "Start with POST /auth/totp." });
  if (!(await acceptTotp(tx, services, userId, withoutBlanks(code)))) {
    const message = "The code is wrong, or too old. Send the current six digits of your authenticator.";
    throw new ApiError("invalid_input", { issues: [{ path: "code", message }] });
  }
  const { id } = await queryOne<{ id: string }>(
    tx,
    sql`
    UPDATE totp_factors SET confirmed_at = ${services.clock.now().toISOString()}::timestamptz
    WHERE user_id = ${userId}::uuid RETURNING id`,
  );
  const recoveryCodes = generateRecoveryCodes();
  await tx.query(sql`DELETE FROM recovery_codes WHERE user_id = ${userId}::uuid`);
  await tx.query(sql`
    INSERT INTO recovery_codes (user_id, code_hash)
    SELECT ${userId}::uuid, hash FROM unnest(${recoveryCodes.map(hashRecoveryCode)}::bytea[]) AS hash`);
  await endSessions(tx, userId, sessionId);
  await tx.query(sql`UPDATE sessions SET second_factor = true WHERE id = ${sessionId}::uuid`);
  return { id, recoveryCodes };
}

/**
 * Removes a user's second factor, pending or confirmed, with its recovery codes. Sessions that proved it no longer count as
 * such. Returns whether there was one.
 */
export async function removeFactor(tx: Transaction, userId: string): Promise<boolean> {
  await tx.query(sql`DELETE FROM recovery_codes WHERE user_id = ${userId}::uuid`);
  await tx.query(sql`UPDATE sessions SET second_factor = false WHERE user_id = ${userId}::uuid AND second_factor`);
  const removed = await tx.query(sql`DELETE FROM totp_factors WHERE user_id = ${userId}::uuid RETURNING 1`);
  return removed.length > 0;
}

const RESEAL_BATCH = 100;

/**
 * Encrypts with the newest session secret whatever an older one has encrypted, so that an older one can be retired although
 * some users have not signed in meanwhile. Does nothing while there is only one.
 */
export async function resealFactors({ database, settings }: FactorServices & { database: Connection }): Promise<void> {
  const { sessionSecrets } = settings;
  if (sessionSecrets.length === 1) return;
  for (let after = NIL_UUID; ; ) {
    const factors = await database.query<{ userId: string; encrypted: string }>(sql`
      SELECT user_id AS "userId", sealed_secret AS encrypted FROM totp_factors
      WHERE user_id > ${after}::uuid ORDER BY user_id LIMIT ${RESEAL_BATCH}`);
    for (const { userId, encrypted } of factors) {
      const decrypted = await decryptSecret(encrypted, userId, sessionSecrets);
      if (decrypted === null || decrypted.isCurrent) continue;
      const encryptedAnew = await encryptSecret(decrypted.secret, userId, sessionSecrets);
      await database.query(sql`
        UPDATE totp_factors SET sealed_secret = ${encryptedAnew}
        WHERE user_id = ${userId}::uuid AND sealed_secret = ${encrypted}`);
    }
    const last = factors.at(-1);
    if (last === undefined || factors.length < RESEAL_BATCH) return;
    after = last.userId;
  }
}
