import type { ApiError, ErrorCode, ErrorDetails } from "../../errors.ts";
import { createSealedKey } from "../../gateways/storage.ts";
import type { Services } from "../../services.ts";
import { type Connection, type Sql, sql } from "../../store/connection.ts";

/** An upload that this request alone is finalising. */
export interface Lease {
  storageKey: string;
  /** Where the copy goes. Nobody else writes there. */
  sealedKey: string;
}

const LEASE_SECONDS = 10;
const EXTENSION_INTERVAL_MS = (LEASE_SECONDS * 1000) / 4;

const leaseEnd = sql`clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})`;
const isMine = ({ storageKey, sealedKey }: Lease) =>
  sql`storage_key = ${storageKey} AND sealed_key = ${sealedKey} AND NOT finished AND sealing_until > clock_timestamp()`;

/** Rows of `uploads` that nobody is finalising. An expired lease is never extended, so its copy will never be recorded. */
export const isIdle = sql`NOT finished AND (sealing_until IS NULL OR sealing_until <= clock_timestamp())`;

/** The error that has refused an upload for good, as its row keeps it. */
export interface Refusal {
  code: ErrorCode;
  details: ErrorDetails;
}

/**
 * Returns a lease on the upload, and the copy that an earlier holder may have left behind; null while another request
 * holds the lease, or if the upload is finished, refused or gone.
 */
export async function takeLease(
  connection: Connection,
  storageKey: string,
): Promise<{ lease: Lease; abandonedKey: string | null } | null> {
  const sealedKey = createSealedKey(storageKey);
  const [taken] = await connection.query<{ abandonedKey: string | null }>(sql`
    UPDATE uploads SET sealed_key = ${sealedKey}, sealing_until = ${leaseEnd}
    FROM (SELECT sealed_key AS abandoned_key FROM uploads WHERE storage_key = ${storageKey} FOR UPDATE) AS before
    WHERE storage_key = ${storageKey} AND ${isIdle} AND refusal IS NULL
    RETURNING before.abandoned_key AS "abandonedKey"`);
  return taken ? { lease: { storageKey, sealedKey }, abandonedKey: taken.abandonedKey } : null;
}

/** Runs `work` while extending the lease. If `work` fails, gives the lease up; otherwise it has finished the upload. */
export async function holdLease<Result>(
  { database, log }: Pick<Services, "database" | "log">,
  lease: Lease,
  work: () => Promise<Result>,
): Promise<Result> {
  const failed = (error: unknown) => log.warn({ error, storageKey: lease.storageKey }, "a lease could not be updated");
  const set = (end: ReturnType<typeof sql>) =>
    database.query(sql`UPDATE uploads SET sealing_until = ${end} WHERE ${isMine(lease)}`).catch(failed);
  const timer = setInterval(() => set(leaseEnd), EXTENSION_INTERVAL_MS);
  try {
    return await work();
  } catch (error) {
    clearInterval(timer);
    await set(sql`clock_timestamp()`);
    throw error;
  } finally {
    clearInterval(timer);
  }
}

/** Marks the upload as finished, for the statement that records its artifact. Returns its row; none if the lease was lost. */
export const finishUpload = (lease: Lease): Sql =>
  sql`UPDATE uploads SET finished = true WHERE ${isMine(lease)} RETURNING *`;

/** Ends the upload with this error: nobody will take a lease on it again. */
export async function refuseUpload(connection: Connection, lease: Lease, { code, details }: ApiError): Promise<void> {
  const refusal: Refusal = { code, details };
  await connection.query(sql`UPDATE uploads SET refusal = ${JSON.stringify(refusal)}::jsonb WHERE ${isMine(lease)}`);
}
