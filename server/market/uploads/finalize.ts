import { ApiError } from "../../errors.ts";
import { END_BYTES, START_BYTES } from "../../gateways/inspection/inspector.ts";
import type { SealedObject } from "../../gateways/storage.ts";
import type { Services } from "../../services.ts";
import type { Transaction } from "../../store/database.ts";
import type { CallerContext } from "../../trpc.ts";
import { Turns } from "../../turns.ts";
import { type Declared, type Destination, findDeclared, invalidStorageKey } from "./declare.ts";
import { holdSealingLease, refuseUpload, type SealingLease, takeSealingLease } from "./lease.ts";
import { essenceOf } from "./mimeType.ts";
import { checkType } from "./typeCheck.ts";

/** A copy that is to be recorded as an artifact, and what its bytes say. */
export interface SealedUpload {
  lease: SealingLease;
  sha256: string | null;
  detectedMimeType: string | null;
  mimeTypeDiffers: boolean;
  detectedDimensions: { width: number; height: number } | null;
  detectedDurationSec: number | null;
}

interface Steps<Recorded> {
  /** Throws when the upload cannot be finalised by this caller now. Called again after each pause. */
  find(): Promise<Declared>;
  /** Returns what an earlier request has recorded; null if there is nothing. */
  findRecorded(): Promise<Recorded | null>;
  /** Throws when the copy could not be recorded for another reason than its bytes. `record` judges the same again. */
  check?(): Promise<void>;
  /** Records the copy in a transaction; it is null if nothing was uploaded. */
  record(sealed: SealedUpload | null): Promise<Recorded>;
}

type Finalizer = Services & { userId: string };

/** One file is parsed at a time, and users take turns: whoever finalises many delays another by one file. */
const parsing = new Turns({ running: 1, waiting: 2_000, waitingPerKey: 100 });

/** Runs `work` when it is this user's turn. Throws `unavailable` when too many wait. */
export function inTurn<Result>(userId: string, work: () => Promise<Result>): Promise<Result> {
  // Also for a client that has left: the copy is made, and would be made again.
  return parsing.run({ key: userId }, work);
}

const FIRST_PAUSE_MS = 20;
const MAX_PAUSE_MS = 500;
/** Longer than copying a file takes. */
const MAX_WAIT_MS = 150_000;

/**
 * Finalises the upload with this key in the caller's request, once for all repeats. `record` writes in the request's transaction,
 * behind a lock, where it judges everything again. Without `findRecorded`, what was finalised already is refused as `mayUpload`
 * refuses it.
 */
export function finalizeFor<Recorded>(
  ctx: CallerContext,
  { destination, storageKey }: { destination: Destination; storageKey: string },
  steps: {
    findRecorded?(): Promise<Recorded | null>;
    record(tx: Transaction, sealed: SealedUpload | null): Promise<Recorded>;
  },
): Promise<Recorded> {
  return ctx.claim(({ change }) =>
    finalizeUpload(ctx, {
      find: () => findDeclared(ctx, destination, storageKey),
      async findRecorded() {
        const recorded = (await steps.findRecorded?.()) ?? null;
        return recorded === null ? null : change(async () => recorded);
      },
      check: async () => destination.hasRoom?.(ctx.database),
      record: (sealed) => change((tx) => steps.record(tx, sealed)),
    }),
  );
}

/**
 * Copies an upload to where its URL cannot change it, inspects the copy, and records it. Of several requests for one
 * upload, one does so and the others wait, without a database connection and without holding up the caller's other requests.
 * A copy costs the store and a parser, so what can be refused without one is, and a copy that was refused for good is the
 * upload's last: whoever repeats the request gets the same error.
 * @throws ApiError `invalid_input` when the bytes are not what was declared; `unavailable` when the wait is too long
 */
export async function finalizeUpload<Recorded>(
  services: Finalizer & { client: { left: AbortSignal }; pause(milliseconds: number): Promise<void> },
  steps: Steps<Recorded>,
): Promise<Recorded> {
  const deadline = Date.now() + MAX_WAIT_MS;
  let pauseMs = FIRST_PAUSE_MS;
  while (Date.now() < deadline && !services.client.left.aborted) {
    const declared = await steps.find();
    const recorded = await steps.findRecorded();
    if (recorded !== null) return recorded;
    if (declared.refusal !== null) throw new ApiError(declared.refusal.code, declared.refusal.details);
    await steps.check?.();
    const taken = await takeSealingLease(services.database, declared.storageKey);
    if (taken !== null) {
      if (taken.abandonedKey !== null) await discard(services, taken.abandonedKey);
      return holdSealingLease(services, taken.lease, () => seal(services, declared, taken.lease, steps.record));
    }
    await services.pause(pauseMs);
    pauseMs = Math.min(pauseMs * 1.5, MAX_PAUSE_MS);
  }
  throw new ApiError("unavailable");
}

async function seal<Recorded>(
  services: Finalizer,
  declared: Declared,
  lease: SealingLease,
  record: Steps<Recorded>["record"],
): Promise<Recorded> {
  const { storageKey, sealedKey } = lease;
  const sealed = await services.storage.seal(storageKey, sealedKey, START_BYTES);
  if (sealed === null) return record(null);
  try {
    // Without parameters: stores may write them differently, and the upload URL's signature covered them.
    if (sealed.bytes !== declared.bytes || essenceOf(sealed.mimeType) !== essenceOf(declared.mimeType)) {
      throw invalidStorageKey("The uploaded file has a different size or type than was declared.");
    }
    // The upload itself is left to the sweep: the caller need not wait for another answer of the store.
    return await record({ lease, ...(await inspectSealed(services, declared, sealed)) });
  } catch (error) {
    // Only an `ApiError` proves that the copy was not recorded; a connection lost during the commit does not.
    if (error instanceof ApiError) {
      if (isForGood(error)) await refuseUpload(services.database, lease, error);
      await discard(services, sealedKey);
    }
    throw error;
  }
}

/** Whether the bytes, or their number, are to blame: not a status that may come back, nor a failure of ours. */
const isForGood = ({ status }: ApiError) => status === 400;

/** Reads only the ends of the file, whatever its size. */
async function inspectSealed(
  { storage, inspector, userId }: Finalizer,
  { mimeType }: Declared,
  { storageKey, bytes, sha256, start }: SealedObject,
): Promise<Omit<SealedUpload, "lease">> {
  const endsAt = Math.max(start.length, bytes - END_BYTES);
  const end = endsAt < bytes ? await storage.read(storageKey, endsAt, bytes) : new Uint8Array();
  const inspection = await inTurn(userId, () => inspector.inspect({ bytes, start, end }));
  const { detectedMimeType, differs } = checkType(mimeType, inspection);
  return {
    sha256,
    detectedMimeType,
    mimeTypeDiffers: differs,
    detectedDimensions: inspection.dimensions,
    detectedDurationSec: inspection.durationSec,
  };
}

/** What cannot be deleted now is swept later. */
async function discard({ storage, log }: Services, storageKey: string): Promise<void> {
  await storage
    .delete(storageKey)
    .catch((error: unknown) => log.warn({ storageKey, error }, "an object was left behind"));
}
