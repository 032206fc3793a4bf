import { ApiError, type ErrorCode, errorCatalogue } from "../../errors.ts";
import type { Clock } from "../../gateways/clock.ts";
import { bindKey } from "../../repeats/keptAnswers.ts";
import type { Question } from "../../repeats/key.ts";
import { queryOne, sql } from "../../store/connection.ts";
import type { Database, Transaction } from "../../store/database.ts";
import type { Principal } from "../principal.ts";
import { countPending, endIfOver, supersede } from "./end.ts";
import { type ApprovalRow, findApprovals, lockApproval, presentOf, toApproval } from "./records.ts";

/** Source: docs/contract.md "Limits". */
const MAX_PENDING = 50;
const LIFETIME_HOURS = 72;
const NO_LASTS_HOURS = 24;
/** Of the keys with which one approval was asked, those that are remembered for MCP's tokens. */
const MAX_REMEMBERED_KEYS = 20;

interface AskServices {
  readonly database: Database;
  readonly clock: Clock;
  readonly settings: { readonly publicUrl: string };
}

/** What a request is answered with. An error is thrown after the commit, because some of what it says is recorded. */
type Outcome = { result: unknown } | { error: ApiError };

/**
 * Asks the owner of an API key about what it may not do alone. The same question is asked once. Throws `approval_required`;
 * `approval_declined` if the owner has said no to the same; `limit_reached`; `idempotency_conflict` for a key that belongs to
 * another approval. A repeat that was under way while the owner approved it gets the result.
 */
export async function askOwner<Result>(
  services: AskServices,
  principal: Principal,
  question: Question,
): Promise<{ result: Result }> {
  if (principal.kind !== "apiKey") throw new Error("a session asks nobody");
  const { keyId, userId } = principal;
  const outcome = await services.database.transaction((tx) => ask(tx, services, { keyId, userId }, question));
  if ("error" in outcome) throw outcome.error;
  return { result: outcome.result as Result }; // of the same operation with the same input
}

async function ask(
  tx: Transaction,
  services: AskServices,
  { keyId, userId }: { keyId: string; userId: string },
  question: Question,
): Promise<Outcome> {
  const { operation, inputHash, key, needed } = question;
  const same = sql`a.key_id = ${keyId}::uuid AND a.operation = ${operation} AND a.input_hash = ${inputHash}`;
  const [asked] = await findApprovals(tx, services.clock.now(), sql`${same} AND a.status = 'pending'`);
  // One question of a key after another, so that they are counted, and each is asked once.
  await tx.query(sql`SELECT pg_advisory_xact_lock(hashtextextended('approvals ' || ${keyId}, 0))`);
  const now = services.clock.now();
  const [pending] = await findApprovals(tx, now, sql`${same} AND a.status = 'pending'`);
  for (const id of new Set([asked?.id, pending?.id])) {
    const found = id === undefined ? null : await lockApproval(tx, now, id);
    const outcome = found && (await outcomeOf(tx, services, found, question));
    if (outcome) return outcome;
  }
  const no = sql`${same} AND a.status = 'declined'
    AND a.decided_at > ${now.toISOString()}::timestamptz - make_interval(hours => ${NO_LASTS_HOURS})`;
  const [declined] = await findApprovals(tx, now, no);
  if (declined !== undefined) return { error: refusalOf(declined) };
  for (const over of await findApprovals(tx, now, sql`a.key_id = ${keyId}::uuid AND a.status = 'pending'`)) {
    if (over.status !== "pending") await endLocked(tx, over.id, now);
  }
  if (needed.subjectId !== null) await supersede(tx, { keyId, operation, subjectId: needed.subjectId }, now);
  if ((await countPending(tx, keyId)) >= MAX_PENDING) {
    const message = `${MAX_PENDING} questions of this API key wait for its owner's answer: wait for one of them.`;
    return { error: new ApiError("limit_reached", { message, limit: MAX_PENDING }) };
  }
  const row = await addApproval(tx, { keyId, userId }, question, now);
  if (row === null) return { error: new ApiError("unauthenticated") };
  if (key !== null && !(await bindKey(tx, key, row.id))) throw new ApiError("idempotency_conflict");
  tx.events.record("approval.requested", { approval: toApproval(row) }, [userId]);
  return { error: requiredBy(services, row) };
}

async function endLocked(tx: Transaction, id: string, now: Date): Promise<void> {
  const row = await lockApproval(tx, now, id);
  if (row !== null) await endIfOver(tx, row, now);
}

/** What a repeat of a question is answered with; null if that question is over, and has to be asked anew. */
async function outcomeOf(
  tx: Transaction,
  services: AskServices,
  row: ApprovalRow,
  { key }: Question,
): Promise<Outcome | null> {
  if (row.status === "pending") {
    if (key !== null) {
      if (!(await bindKey(tx, key, row.id))) throw new ApiError("idempotency_conflict");
      await remember(tx, row.id, key.key);
    }
    return { error: requiredBy(services, row) };
  }
  if (row.status === "approved" && row.result !== null) return { result: row.result };
  if (row.status === "failed" && row.error !== null) return { error: errorOf(row.error) };
  return null;
}

const remember = (tx: Transaction, id: string, key: string) =>
  tx.query(sql`
    UPDATE approvals SET asked_with = asked_with || ${key}::text
    WHERE id = ${id}::uuid AND NOT ${key}::text = ANY (asked_with) AND cardinality(asked_with) < ${MAX_REMEMBERED_KEYS}`);

/** Returns null for a key that has ended meanwhile. */
async function addApproval(
  tx: Transaction,
  { keyId, userId }: { keyId: string; userId: string },
  { operation, input, inputHash, key, needed }: Question,
  now: Date,
): Promise<ApprovalRow | null> {
  const { amountCents, taskId, bidId, subjectId, endsAt } = needed;
  const at = sql`${now.toISOString()}::timestamptz`;
  const [added] = await tx.query<{ id: string }>(sql`
    INSERT INTO approvals (user_id, key_id, operation, subject_id, task_id, bid_id, input, input_hash, asked_with,
                           amount_cents, summary, version, expires_at)
    SELECT ${userId}::uuid, k.id, ${operation}, ${subjectId}::uuid, ${taskId}::uuid, ${bidId}::uuid,
           ${JSON.stringify(input ?? {})}::json, ${inputHash}, ${key === null ? [] : [key.key]}::text[],
           ${amountCents}::bigint, '', '',
           least(${at} + make_interval(hours => ${LIFETIME_HOURS}), k.expires_at, ${endsAt}::timestamptz)
    FROM api_keys k WHERE k.id = ${keyId}::uuid AND k.revoked_at IS NULL AND k.expires_at > ${at}
    RETURNING id`);
  if (added === undefined) return null;
  const [row] = await findApprovals(tx, now, sql`a.id = ${added.id}::uuid`);
  if (row === undefined) throw new Error("an approval that was just added is gone");
  const { summary, version } = presentOf(row);
  await tx.query(sql`UPDATE approvals SET summary = ${summary}, version = ${version} WHERE id = ${row.id}::uuid`);
  return row;
}

/**
 * For a request whose `Idempotency-Key` belongs to an approval. Waits for whoever decides it at this moment. Throws
 * `approval_required` while it is pending, and `idempotency_conflict` for another credential than the key that asked; returns
 * once it has ended.
 */
export async function awaitDecision(services: AskServices, principal: Principal, approvalId: string): Promise<void> {
  const row = await services.database.transaction(async (tx) => {
    const now = services.clock.now();
    const found = await lockApproval(tx, now, approvalId);
    if (found !== null) await endIfOver(tx, found, now);
    return found;
  });
  if (row?.status !== "pending") return;
  if (principal.kind === "apiKey" && principal.keyId === row.keyId) throw requiredBy(services, row);
  throw new ApiError("idempotency_conflict");
}

/** The page of an approval in the console. */
const urlOf = ({ settings }: AskServices, id: string) => new URL(`/app/approvals/${id}`, settings.publicUrl).href;

const requiredBy = (services: AskServices, { id, expiresAt }: ApprovalRow) =>
  new ApiError("approval_required", { approval: { id, url: urlOf(services, id), expiresAt } });

const refusalOf = ({ id, reason }: ApprovalRow) =>
  new ApiError("approval_declined", { approval: { id, reason: reason ?? "" } });

const isErrorCode = (code: unknown): code is ErrorCode =>
  typeof code === "string" && Object.hasOwn(errorCatalogue, code);

/** The error that an approval has failed with. */
function errorOf(body: Record<string, unknown>): ApiError {
  const { error, message, requestId: _, ...details } = body;
  if (!isErrorCode(error)) return new ApiError("internal_error");
  return new ApiError(error, { message: String(message), ...details });
}

/** Whether this key of a request was one with which an approval was asked that is pending, or was decided within a day. */
export async function wasAskedWith(
  { database, clock }: Pick<AskServices, "database" | "clock">,
  userId: string,
  key: string,
): Promise<boolean> {
  const at = sql`${clock.now().toISOString()}::timestamptz`;
  const { known } = await queryOne<{ known: boolean }>(
    database,
    sql`SELECT EXISTS (
      SELECT FROM approvals a WHERE a.user_id = ${userId}::uuid AND ${key} = ANY (a.asked_with)
        AND (a.decided_at IS NULL OR a.decided_at > ${at} - make_interval(hours => ${NO_LASTS_HOURS}))) AS known`,
  );
  return known;
}
