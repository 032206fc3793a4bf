import { randomUUID } from "node:crypto";
import { createSealedKey, type Storage } from "../../gateways/storage.ts";
import { type Found, messageOf, ok, problem } from "./finding.ts";

const TIMEOUT_MS = 10_000;
const mimeType = "text/plain";
const KEYS = "Check the S3_ settings, and that the keys may read, write, delete and list in the bucket.";

/**
 * Uploads, copies, reads and deletes a small file, in the way that clients and the service do.
 * @param origins the origins of the pages that upload from a browser
 */
export async function examineStorage(storage: Storage, origins: readonly string[]): Promise<Found[]> {
  const storageKey = `doctor/${randomUUID()}`;
  const sealedKey = createSealedKey(storageKey);
  const { status } = await put(await upload(storage, storageKey), storageKey, mimeType);
  if (status !== 200) return [problem(`an upload to a presigned URL is refused with ${status}`, KEYS)];
  try {
    return [
      await tryStoredType(storage, storageKey),
      await tryOtherType(storage, storageKey),
      await trySeal(storage, storageKey, sealedKey),
      await tryDownload(storage, storageKey),
      await tryList(storage, storageKey),
      ...(await Promise.all(origins.map((origin) => tryOrigin(storage, storageKey, origin)))),
    ];
  } finally {
    await Promise.all([storage.delete(storageKey), storage.delete(sealedKey)]);
  }
}

const upload = async (storage: Storage, storageKey: string) =>
  storage.presignUpload({ storageKey, mimeType, bytes: Buffer.byteLength(storageKey), expiresInSeconds: 60 });

const put = async (url: string, body: string, type: string) =>
  fetch(url, { method: "PUT", body, headers: { "Content-Type": type }, signal: AbortSignal.timeout(TIMEOUT_MS) });

async function tryStoredType(storage: Storage, storageKey: string): Promise<Found> {
  const stored = await storage.head(storageKey);
  if (stored?.mimeType === mimeType) return ok("a presigned upload works and keeps its content type");
  return problem(
    `a presigned upload of ${mimeType} is stored as ${stored?.mimeType ?? "nothing"}`,
    "Let whatever is between clients and the object store pass on the headers Content-Type and Content-Length.",
  );
}

/** What was declared is what is paid for, so the store must hold uploads to it. */
async function tryOtherType(storage: Storage, storageKey: string): Promise<Found> {
  const { status } = await put(await upload(storage, storageKey), storageKey, "text/html");
  if (status >= 400) return ok("an upload of another content type than the declared one is refused");
  const advice = "Use a store that checks the signed headers of an upload, as Amazon S3 does.";
  return problem("an upload of another content type than the declared one is accepted", advice);
}

async function trySeal(storage: Storage, storageKey: string, sealedKey: string): Promise<Found> {
  try {
    const copy = await storage.seal(storageKey, sealedKey, 1_000);
    if (copy?.bytes === Buffer.byteLength(storageKey)) return ok("a file can be copied in the bucket");
    return problem("a copy of a file is missing or has another size", KEYS);
  } catch (error) {
    return problem(`a file cannot be copied in the bucket: ${messageOf(error)}`, KEYS);
  }
}

async function tryDownload(storage: Storage, storageKey: string): Promise<Found> {
  const fileName = "doctor.txt";
  const url = await storage.presignDownload({ storageKey, fileName, mimeType, expiresInSeconds: 60 });
  const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  const text = await response.text();
  if (response.status !== 200 || text !== storageKey) {
    return problem(`a download from a presigned URL is answered with ${response.status}, not with the file`, KEYS);
  }
  const isAttachment = response.headers.get("content-disposition")?.startsWith("attachment");
  if (isAttachment && response.headers.get("content-type") === mimeType) {
    return ok("a presigned download works, with its type and as an attachment");
  }
  return problem(
    "a download is not sent as an attachment of its type: browsers may run what somebody uploaded",
    "Use a store that supports response-content-disposition and response-content-type, as Amazon S3 does.",
  );
}

async function tryList(storage: Storage, storageKey: string): Promise<Found> {
  try {
    const files = await storage.list(storageKey, "", 1);
    if (files[0]?.storageKey === storageKey) return ok("the bucket can be listed");
    return problem("the list of the bucket's files lacks one that was just uploaded", KEYS);
  } catch (error) {
    return problem(`the bucket cannot be listed, so abandoned files are not deleted: ${messageOf(error)}`, KEYS);
  }
}

/** Asks as a browser does before a page of this origin may upload. */
async function tryOrigin(storage: Storage, storageKey: string, origin: string): Promise<Found> {
  const { headers } = await fetch(await upload(storage, storageKey), {
    method: "OPTIONS",
    headers: {
      Origin: origin,
      "Access-Control-Request-Method": "PUT",
      "Access-Control-Request-Headers": "content-type",
    },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const allows = (name: string, value: string) =>
    (headers.get(name) ?? "").split(",").some((part) => ["*", value].includes(part.trim().toLowerCase()));
  const isAllowed =
    allows("access-control-allow-origin", origin) &&
    allows("access-control-allow-methods", "put") &&
    allows("access-control-allow-headers", "content-type");
  if (isAllowed) return ok(`pages of ${origin} may upload to the bucket`);
  const rule = { AllowedOrigins: [origin], AllowedMethods: ["PUT", "GET"], AllowedHeaders: ["content-type"] };
  return problem(
    `the bucket's CORS rules do not let pages of ${origin} upload: the console cannot deliver files`,
    `Add this rule to the bucket: ${JSON.stringify({ CORSRules: [rule] })}`,
  );
}
