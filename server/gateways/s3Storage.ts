import { onFirstUse } from "../onFirstUse.ts";
import type { Storage, StorageSettings } from "./storage.ts";

/** A bucket is a part of Amazon's host name, unless its own name has dots. */
function originOf({ endpoint, bucket, region }: StorageSettings): string {
  if (endpoint !== null) return new URL(endpoint).origin;
  return `https://${bucket.includes(".") ? "" : `${bucket}.`}s3.${region}.amazonaws.com`;
}

/** The object store at Amazon S3, or at what serves its API. The SDK is loaded by the first call. */
export function s3Storage(settings: StorageSettings): Storage {
  const { method, close } = onFirstUse(async () => (await import("./s3Gateway.ts")).openS3(settings));
  return {
    origin: originOf(settings),
    presignUpload: method((s3) => s3.presignUpload),
    presignDownload: method((s3) => s3.presignDownload),
    seal: method((s3) => s3.seal),
    read: method((s3) => s3.read),
    list: method((s3) => s3.list),
    head: method((s3) => s3.head),
    delete: method((s3) => s3.delete),
    close: () => close((s3) => s3.close()),
  };
}
