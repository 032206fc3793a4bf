import { ApiError } from "../../errors.ts";
import type { SealedObject } from "../../gateways/storage.ts";
import type { Services } from "../../services.ts";
import { invalidStorageKey } from "./declare.ts";
import { essenceOf } from "./mimeType.ts";

/**
 * Seals what was uploaded under a declared key and passes the copy to `record`, which records it in a transaction; the
 * upload URL cannot change the copy. `record` returns the artifact's row, which may be an earlier one if a parallel
 * request was faster, or throws. Of upload and copy, the one that is no longer needed is deleted.
 */
export async function sealUpload<Recorded extends { row: { storageKey: string } }>(
  services: Services,
  declared: { storageKey: string; bytes: number; mimeType: string },
  record: (sealed: SealedObject | null) => Promise<Recorded>,
): Promise<Recorded> {
  const { storage, log } = services;
  // Failing to delete an object only costs a little space.
  const discard = (storageKey: string) =>
    storage.delete(storageKey).catch((error: unknown) => log.warn({ storageKey, error }, "an object was left behind"));
  const sealed = await storage.seal(declared.storageKey);
  try {
    // Without parameters: stores may write them differently, and the upload URL's signature covered them.
    if (
      sealed !== null &&
      (sealed.bytes !== declared.bytes || essenceOf(sealed.mimeType) !== essenceOf(declared.mimeType))
    ) {
      throw invalidStorageKey("The uploaded file has a different size or type than was declared.");
    }
    const recorded = await record(sealed);
    if (recorded.row.storageKey === sealed?.storageKey) await discard(declared.storageKey);
    else if (sealed !== null) await discard(sealed.storageKey);
    return recorded;
  } catch (error) {
    // Only an `ApiError` proves that the copy was not recorded; a connection lost during the commit does not.
    if (sealed !== null && error instanceof ApiError) await discard(sealed.storageKey);
    throw error;
  }
}
