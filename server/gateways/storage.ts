import { randomUUID } from "node:crypto";

/** An object as the store describes it. */
export interface StoredObject {
  mimeType: string;
  bytes: number;
  /** Hexadecimal; null where the store has not computed it. */
  sha256: string | null;
}

/** A copy of an upload that no upload URL can change. */
export interface SealedObject extends StoredObject {
  storageKey: string;
  /** Its first bytes. */
  start: Uint8Array;
}

/**
 * The object store, which keeps uploaded bytes. An upload URL can be used again until it expires, so the bytes under
 * its key may still change. Only what `seal` returns may be recorded as a sample or a delivery.
 */
export interface Storage {
  /** The origin of the URLs below, such as `https://bucket.s3.us-east-1.amazonaws.com`. */
  readonly origin: string;
  /**
   * Returns a URL to PUT exactly `bytes` bytes of `mimeType`. The client sends these two as Content-Length and
   * Content-Type, and no other headers. Does no I/O. Refuses sealed keys.
   */
  presignUpload(input: {
    storageKey: string;
    mimeType: string;
    bytes: number;
    expiresInSeconds: number;
  }): Promise<string>;
  /** Returns a URL that downloads the object as an attachment called `fileName`. Does no I/O. */
  presignDownload(input: {
    storageKey: string;
    fileName: string;
    mimeType: string;
    expiresInSeconds: number;
  }): Promise<string>;
  /**
   * Copies an upload to `sealedKey`, for which no upload URL exists, and returns the copy's description and up to
   * `startBytes` bytes of it, or null if there is no upload, or an empty one. If the copy is not recorded, delete it.
   */
  seal(storageKey: string, sealedKey: string, startBytes: number): Promise<SealedObject | null>;
  /** Stores what the service itself has made, under a sealed key; again, it replaces what is there. */
  write(sealedKey: string, mimeType: string, content: Uint8Array): Promise<void>;
  /**
   * Returns the bytes from `start` to before `end`, which the object must have. Never takes more than that from a store,
   * whatever it sends, and waits at most 10 seconds.
   */
  read(storageKey: string, start: number, end: number): Promise<Uint8Array>;
  /** Returns up to `limit` (1,000 at most) objects whose key begins with `prefix`, in order, from the one after `after`. */
  list(prefix: string, after: string, limit: number): Promise<{ storageKey: string; modifiedAt: Date }[]>;
  /** Returns null if the object does not exist. */
  head(storageKey: string): Promise<StoredObject | null>;
  /** Deleting an object that does not exist succeeds. */
  delete(storageKey: string): Promise<void>;
  close(): Promise<void>;
}

export interface StorageSettings {
  /** Null for Amazon S3; the URL of any compatible store, addressed in path style. Clients must be able to reach it. */
  endpoint: string | null;
  bucket: string;
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
}

export const SEALED_PREFIX = "sealed/";

/** Returns a new key for the copy of an upload. */
export function createSealedKey(storageKey: string): string {
  return `${SEALED_PREFIX}${storageKey}/${randomUUID()}`;
}

/** The key of the upload that a copy was made of. */
export const uploadKeyOf = (sealedKey: string) => sealedKey.slice(SEALED_PREFIX.length, sealedKey.lastIndexOf("/"));

/** Whether a key is that of a copy. */
export const isSealed = (storageKey: string) => storageKey.startsWith(SEALED_PREFIX);
