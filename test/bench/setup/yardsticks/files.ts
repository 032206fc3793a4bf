import { START_BYTES } from "../../../../server/gateways/inspection/inspector.ts";
import { s3Storage } from "../../../../server/gateways/s3Storage.ts";

/**
 * The object store of all sides, with the service's own calls: a delivery counts only when its bytes can no longer change, on
 * every side. So what the store costs is the same for all.
 */
export const storage = s3Storage({
  endpoint: process.env.S3_ENDPOINT ?? "",
  bucket: process.env.S3_BUCKET ?? "",
  region: process.env.S3_REGION ?? "",
  accessKeyId: process.env.S3_ACCESS_KEY_ID ?? "",
  secretAccessKey: process.env.S3_SECRET_ACCESS_KEY ?? "",
});

export const newStorageKey = (bidId: string) => `deliveries/${bidId}/${crypto.randomUUID()}`;

export const signUpload = (storageKey: string, { mimeType, bytes }: { mimeType: string; bytes: number }) =>
  storage.presignUpload({ storageKey, mimeType, bytes, expiresInSeconds: 3_600 });

export const signDownload = (storageKey: string) =>
  storage.presignDownload({ storageKey, fileName: "delivery.txt", mimeType: "text/plain", expiresInSeconds: 900 });

/** Copies an upload to a key that no upload URL reaches. */
export async function seal(storageKey: string) {
  const sealed = await storage.seal(storageKey, `sealed/${storageKey}/${crypto.randomUUID()}`, START_BYTES);
  if (sealed === null) throw new Error("nothing was uploaded");
  return sealed;
}
