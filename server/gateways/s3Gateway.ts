import { addAbortSignal, Readable } from "node:stream";
import {
  CopyObjectCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
} from "@aws-sdk/client-s3";
import { type PresignedUrls, presignedUrls } from "./s3Signing.ts";
import { isSealed, type Storage, type StorageSettings, type StoredObject } from "./storage.ts";
import { StorageUnavailable } from "./storageErrors.ts";

const REQUEST_TIMEOUT_MS = 5000;
/** S3 copies, or takes, a gigabyte in seconds, but may need more than five. */
const COPY_TIMEOUT_MS = 120_000;
/** For all of the bytes, where a store may stop sending halfway. */
const READ_TIMEOUT_MS = 10_000;

/**
 * S3, or anything that speaks its API, with Amazon's SDK.
 *
 * What keeps a finalised upload from changing:
 * - The upload URL's signature covers key, type, length and expiry, so the store refuses a body of another type or
 *   length.
 * - The signature does not make the URL single-use. `If-None-Match: *` would, but as a signed header every client would
 *   have to send it, and in the query it is not documented to work (the SDK's presigner drops `hoistableHeaders`, and
 *   stores may ignore it).
 * - `seal` closes the gap: the record points to a copy under a random key that `presignUpload` never signs, so a later
 *   PUT to the same URL changes only the abandoned upload. It uses plain CopyObject, without versioning or bucket
 *   settings.
 *
 * All methods except the two that presign throw StorageUnavailable for a network failure, a timeout, a 5xx or
 * throttling. Any other refusal (a wrong key, a missing bucket) means a wrong setting and is thrown as the SDK's error.
 */
export function openS3(settings: StorageSettings): Omit<Storage, "origin"> {
  const { bucket } = settings;
  const client = new S3Client({
    ...(settings.endpoint === null ? {} : { endpoint: settings.endpoint, forcePathStyle: true }),
    region: settings.region,
    credentials: { accessKeyId: settings.accessKeyId, secretAccessKey: settings.secretAccessKey },
    // Otherwise the SDK signs the checksum of an empty body into every upload URL.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    maxAttempts: 2,
    // Without `throwOnRequestTimeout` the SDK only logs a timeout and keeps waiting.
    requestHandler: { connectionTimeout: 2000, requestTimeout: REQUEST_TIMEOUT_MS, throwOnRequestTimeout: true },
  });

  return { ...presignedUrls(client, bucket), ...storedObjects(client, bucket), close: async () => client.destroy() };
}

/** What the service does with the objects themselves. */
function storedObjects(client: S3Client, Bucket: string): Omit<Storage, "origin" | "close" | keyof PresignedUrls> {
  async function head(storageKey: string): Promise<StoredObject | null> {
    const command = new HeadObjectCommand({ Bucket, Key: storageKey, ChecksumMode: "ENABLED" });
    const found = await orNull(client.send(command));
    if (found === null) return null;
    return {
      mimeType: found.ContentType ?? "application/octet-stream",
      bytes: found.ContentLength ?? 0,
      sha256: sha256Of(found),
    };
  }

  return {
    async seal(storageKey, sealedKey, startBytes) {
      const copy = new CopyObjectCommand({
        Bucket,
        Key: sealedKey,
        CopySource: `${Bucket}/${storageKey.split("/").map(encodeURIComponent).join("/")}`,
        // S3 computes it while copying: an upload without a checksum has none yet.
        ChecksumAlgorithm: "SHA256",
      });
      const copied = await orNull(client.send(copy, { requestTimeout: COPY_TIMEOUT_MS }));
      if (copied === null) return null;
      // One request describes the copy and reads it, but S3 sends no checksum with a range. Stores that do not send it with
      // the copy either may have it for HEAD.
      const sha256 = sha256Of(copied.CopyObjectResult ?? {});
      const [found, described] = await Promise.all([
        readRange(client, Bucket, sealedKey, 0, startBytes),
        sha256 === null ? head(sealedKey) : { sha256 },
      ]);
      if (found === null || described === null) return null;
      const { content: start, ...description } = found;
      return { ...description, storageKey: sealedKey, sha256: described.sha256, start };
    },

    write: (sealedKey, mimeType, content) => write(client, Bucket, sealedKey, mimeType, content),

    async read(storageKey, start, end) {
      const found = await readRange(client, Bucket, storageKey, start, end);
      if (found === null) throw new Error(`the object ${storageKey} is missing`);
      if (found.content.length < end - start) throw sentTooLittle();
      return found.content;
    },

    async list(prefix, after, limit) {
      const command = new ListObjectsV2Command({ Bucket, Prefix: prefix, StartAfter: after, MaxKeys: limit });
      const { Contents = [] } = (await orNull(client.send(command))) ?? {};
      return Contents.flatMap(({ Key, LastModified }) =>
        Key === undefined || LastModified === undefined ? [] : [{ storageKey: Key, modifiedAt: LastModified }],
      );
    },

    head,

    async delete(storageKey) {
      await orNull(client.send(new DeleteObjectCommand({ Bucket, Key: storageKey })));
    },
  };
}

async function write(client: S3Client, Bucket: string, Key: string, ContentType: string, Body: Uint8Array) {
  if (!isSealed(Key)) throw new Error(`${Key} is not sealed: an upload could replace what is there`);
  const command = new PutObjectCommand({ Bucket, Key, ContentType, ContentLength: Body.length, Body });
  await orNull(client.send(command, { requestTimeout: COPY_TIMEOUT_MS }));
}

/** Returns the bytes from `start` to before `end`, or to the object's end, and its type and size; null if it has none of them. */
async function readRange(client: S3Client, Bucket: string, storageKey: string, start: number, end: number) {
  const command = new GetObjectCommand({ Bucket, Key: storageKey, Range: `bytes=${start}-${end - 1}` });
  const abortSignal = AbortSignal.timeout(READ_TIMEOUT_MS);
  const found = await orNull(client.send(command, { abortSignal }));
  if (!(found?.Body instanceof Readable)) return null;
  // A store that does not know ranges sends the whole object.
  const bytes = Number(/\/(\d+)$/.exec(found.ContentRange ?? "")?.[1] ?? found.ContentLength ?? end);
  const content = await readExactly(addAbortSignal(abortSignal, found.Body), Math.min(end, bytes) - start);
  return { mimeType: found.ContentType ?? "application/octet-stream", bytes, content };
}

/**
 * Returns the output, or null if the object does not exist or has none of the bytes that were asked for. The one place that
 * reads the SDK's errors.
 */
async function orNull<Output>(output: Promise<Output>): Promise<Output | null> {
  try {
    return await output;
  } catch (error) {
    if (!(error instanceof S3ServiceException)) throw new StorageUnavailable(error);
    const status = error.$metadata.httpStatusCode;
    // A response to HEAD has no body, and so no error code: the SDK calls its 404 "NotFound".
    if (status === 404 && (error.name === "NotFound" || error.name === "NoSuchKey")) return null;
    if (status === 416) return null;
    if (status === undefined || status >= 500 || status === 429) throw new StorageUnavailable(error);
    throw error;
  }
}

/** Returns the checksum of the whole object, hexadecimal, or null where the store has not computed it. */
function sha256Of({ ChecksumSHA256, ChecksumType }: { ChecksumSHA256?: string; ChecksumType?: string }): string | null {
  if (ChecksumSHA256 === undefined || ChecksumType === "COMPOSITE") return null;
  return Buffer.from(ChecksumSHA256, "base64").toString("hex");
}

const sentTooLittle = () => new StorageUnavailable(new Error("the object store sent fewer bytes than were asked for"));

async function readExactly(body: Readable, count: number): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      bytes += chunk.length;
      // This closes the connection. After the last byte, its end is awaited, so that it serves the next request.
      if (bytes > count) break;
    }
  } catch (error) {
    throw new StorageUnavailable(error);
  }
  if (bytes < count) throw sentTooLittle();
  return Buffer.concat(chunks).subarray(0, count);
}
