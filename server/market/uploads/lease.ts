import type { ApiError, ErrorCode, ErrorDetails } from "../../errors.ts";
import { createSealedKey } from "../../gateways/storage.ts";
import type { Services } from "../../services.ts";
import { type Connection, type Sql, sql } from "../../store/connection.ts";
import { extendingLease, isFree, type Lease, releaseLease, takeLease } from "../../store/lease.ts";

/** An upload that this request alone is finalising. */
export interface SealingLease {
  storageKey: string;
  /** Where the copy goes. Nobody else writes there. */
  sealedKey: string;
}

const sealing: Lease = { table: sql`uploads`, column: sql`sealing_until`, seconds: 10 };

/** An expired lease is never extended, so its copy will never be recorded. */
const isMine = ({ storageKey, sealedKey }: SealingLease) =>
  sql`storage_key = ${storageKey} AND sealed_key = ${sealedKey} AND NOT finished AND NOT ${isFree(sealing)}`;

/** Rows of `uploads` that nobody is finalising. */
export const isIdle = sql`NOT finished AND ${isFree(sealing)}`;

/** The error that has refused an upload for good, as its row keeps it. */
export interface Refusal {
  code: ErrorCode;
  details: ErrorDetails;
}

/**
 * Returns a lease on the upload, and the copy that an earlier holder may have left behind; null while another request
 * holds the lease, or if the upload is finished, refused or gone.
 */
export async function takeSealingLease(
  connection: Connection,
  storageKey: string,
): Promise<{ lease: SealingLease; abandonedKey: string | null } | null> {
  const sealedKey = createSealedKey(storageKey);
  const taken = await takeLease<{ abandonedKey: string | null }>(connection, sealing, {
    row: sql`storage_key = ${storageKey} AND NOT finished AND refusal IS NULL`,
    before: sql`FROM (SELECT sealed_key AS abandoned_key FROM uploads WHERE storage_key = ${storageKey} FOR UPDATE) AS before`,
    set: sql`sealed_key = ${sealedKey}`,
    returning: sql`before.abandoned_key AS "abandonedKey"`,
  });
  return taken && { lease: { storageKey, sealedKey }, abandonedKey: taken.abandonedKey };
}

/** Runs `work` while extending the lease. If `work` fails, gives the lease up; otherwise it has finished the upload. */
export async function holdSealingLease<Result>(
  services: Pick<Services, "database" | "log">,
  lease: SealingLease,
  work: () => Promise<Result>,
): Promise<Result> {
  const { database, log } = services;
  try {
    return await extendingLease(services, sealing, isMine(lease), work);
  } catch (error) {
    await releaseLease(database, sealing, isMine(lease)).catch((failure: unknown) =>
      log.warn({ error: failure, storageKey: lease.storageKey }, "a lease could not be given up"),
    );
    throw error;
  }
}

/** Marks the upload as finished, for the statement that records its artifact. Returns its row; none if the lease was lost. */
export const finishUpload = (lease: SealingLease): Sql =>
  sql`UPDATE uploads SET finished = true WHERE ${isMine(lease)} RETURNING *`;

/** Ends the upload with this error: nobody will take a lease on it again. */
export async function refuseUpload(
  connection: Connection,
  lease: SealingLease,
  { code, details }: ApiError,
): Promise<void> {
  const refusal: Refusal = { code, details };
  await connection.query(sql`UPDATE uploads SET refusal = ${JSON.stringify(refusal)}::jsonb WHERE ${isMine(lease)}`);
}
