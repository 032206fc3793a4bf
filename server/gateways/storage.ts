import { randomUUID } from "node:crypto";
import {
  CopyObjectCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
} from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";

/** An object as the store describes it. */
interface StoredObject {
  mimeType: string;
  bytes: number;
  /** Hexadecimal; null where the store has not computed it. */
  sha256: string | null;
}

/** A copy that no upload URL can change. */
export interface SealedObject extends StoredObject {
  storageKey: string;
}

/**
 * Where uploaded bytes live. An upload URL can be used again until it expires, so the bytes under an uploaded key may still
 * change, and only what `seal` returns may be recorded as a sample or a delivery.
 */
export interface Storage {
  /**
   * A URL for one PUT of exactly `bytes` bytes of `mimeType`: the client sends these two as Content-Type and Content-Length
   * and no other header. Made without asking the store. Sealed keys are refused.
   */
  presignUpload(input: {
    storageKey: string;
    mimeType: string;
    bytes: number;
    expiresInSeconds: number;
  }): Promise<string>;
  /** A URL that downloads the object as an attachment called `fileName`. Made without asking the store. */
  presignDownload(input: {
    storageKey: string;
    fileName: string;
    mimeType: string;
    expiresInSeconds: number;
  }): Promise<string>;
  /**
   * Copies an upload to a key of its own for which no upload URL exists, and describes the copy. The upload itself stays:
   * delete it when the sealed key is recorded; delete the copy instead when it is not. Null when there is no upload.
   */
  seal(storageKey: string): Promise<SealedObject | null>;
  /** Null when there is no such object. */
  head(storageKey: string): Promise<StoredObject | null>;
  /** Deleting an object that does not exist succeeds. */
  delete(storageKey: string): Promise<void>;
  close(): void;
}

export interface StorageSettings {
  /** Null for Amazon's own; a URL for anything compatible, addressed in path style. Clients must be able to reach it. */
  endpoint: string | null;
  bucket: string;
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
}

/** The store is unreachable, does not answer in time, or failed. Trying again later may help. */
export class StorageUnavailable extends Error {
  constructor(cause: unknown) {
    super("the object storage is not available", { cause });
    this.name = "StorageUnavailable";
  }
}

const sealedPrefix = "sealed/";
const requestTimeoutMs = 5000;
/** S3 copies a gigabyte within its own network in seconds, but may need more than five. */
const copyTimeoutMs = 120_000;

/**
 * S3, or anything that speaks its API.
 *
 * What guarantees what:
 * - The upload URL's signature covers key, type, length and expiry: a body of another type or length is refused by the store.
 * - It does not make the URL single-use. `If-None-Match: *` would, but as a signed header every client had to send it, and
 *   in the query it is not documented to count (the SDK's presigner drops `hoistableHeaders`, and stores may ignore it).
 * - `seal` does: the record points to a copy under a random key that `presignUpload` never signs, so a later PUT to the
 *   same URL changes only the abandoned upload. CopyObject is plain S3, without versioning or any setting of the bucket.
 *
 * Every method but the two that presign throws StorageUnavailable for a network failure, a time-out, a 5xx or throttling.
 * Any other refusal (a wrong key, a missing bucket) is a wrong setting and comes through as the SDK's error.
 */
export function s3Storage(settings: StorageSettings): Storage {
  const { bucket: Bucket } = settings;
  const client = new S3Client({
    ...(settings.endpoint === null ? {} : { endpoint: settings.endpoint, forcePathStyle: true }),
    region: settings.region,
    credentials: { accessKeyId: settings.accessKeyId, secretAccessKey: settings.secretAccessKey },
    // Otherwise the checksum of an empty body becomes part of every upload URL.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    maxAttempts: 2,
    // Without `throwOnRequestTimeout` the SDK only logs a timeout and keeps waiting.
    requestHandler: { connectionTimeout: 2000, requestTimeout: requestTimeoutMs, throwOnRequestTimeout: true },
  });

  async function head(storageKey: string): Promise<StoredObject | null> {
    const command = new HeadObjectCommand({ Bucket, Key: storageKey, ChecksumMode: "ENABLED" });
    const found = await orNull(client.send(command));
    if (found === null) return null;
    const checksum = found.ChecksumType === "COMPOSITE" ? undefined : found.ChecksumSHA256;
    return {
      mimeType: found.ContentType ?? "application/octet-stream",
      bytes: found.ContentLength ?? 0,
      sha256: checksum === undefined ? null : Buffer.from(checksum, "base64").toString("hex"),
    };
  }

  return {
    presignUpload({ storageKey, mimeType, bytes, expiresInSeconds }) {
      if (storageKey.startsWith(sealedPrefix))
        throw new Error(`${storageKey} is sealed: nothing may be uploaded there`);
      const command = new PutObjectCommand({ Bucket, Key: storageKey, ContentType: mimeType, ContentLength: bytes });
      return getSignedUrl(client, command, {
        expiresIn: expiresInSeconds,
        // The presigner leaves the type out unless it is named here.
        signableHeaders: new Set(["host", "content-type", "content-length"]),
      });
    },

    presignDownload({ storageKey, fileName, mimeType, expiresInSeconds }) {
      const command = new GetObjectCommand({
        Bucket,
        Key: storageKey,
        ResponseContentType: mimeType,
        ResponseContentDisposition: attachment(fileName),
      });
      return getSignedUrl(client, command, { expiresIn: expiresInSeconds });
    },

    async seal(storageKey) {
      const sealedKey = `${sealedPrefix}${storageKey}/${randomUUID()}`;
      const copy = new CopyObjectCommand({
        Bucket,
        Key: sealedKey,
        CopySource: `${Bucket}/${storageKey.split("/").map(encodeURIComponent).join("/")}`,
        // S3 computes it while copying; an upload that brought no checksum has none yet.
        ChecksumAlgorithm: "SHA256",
      });
      const copied = await orNull(client.send(copy, { requestTimeout: copyTimeoutMs }));
      if (copied === null) return null;
      const sealed = await head(sealedKey);
      return sealed === null ? null : { ...sealed, storageKey: sealedKey };
    },

    head,

    async delete(storageKey) {
      await orNull(client.send(new DeleteObjectCommand({ Bucket, Key: storageKey })));
    },

    close() {
      client.destroy();
    },
  };
}

/** The answer, or null when the object does not exist. The one place that reads the SDK's errors. */
async function orNull<Answer>(answer: Promise<Answer>): Promise<Answer | null> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof S3ServiceException)) throw new StorageUnavailable(error);
    const status = error.$metadata.httpStatusCode;
    // A HEAD has no body and so no code of S3's: the SDK calls its 404 "NotFound".
    if (status === 404 && (error.name === "NotFound" || error.name === "NoSuchKey")) return null;
    if (status === undefined || status >= 500 || status === 429) throw new StorageUnavailable(error);
    throw error;
  }
}

/** RFC 6266: the plain name for old clients, the exact one in UTF-8 for all others. */
function attachment(fileName: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it removes
  const safe = fileName.toWellFormed().replace(/[\u0000-\u001f\u007f/\\]/g, "_");
  const ascii = safe.replace(/[^\u0020-\u007e]|["%]/g, "_");
  const exact = encodeURIComponent(safe).replace(
    /['()*]/g,
    (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${ascii}"; filename*=UTF-8''${exact}`;
}
