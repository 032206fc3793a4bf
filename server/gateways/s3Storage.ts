import type { Storage, StorageSettings } from "./storage.ts";

/** A bucket is a part of Amazon's host name, unless its own name has dots. */
function originOf({ endpoint, bucket, region }: StorageSettings): string {
  if (endpoint !== null) return new URL(endpoint).origin;
  return `https://${bucket.includes(".") ? "" : `${bucket}.`}s3.${region}.amazonaws.com`;
}

/** The object store at Amazon S3, or at what serves its API. The first call loads the SDK, which no start needs. */
export function s3Storage(settings: StorageSettings): Storage {
  let opened: Omit<Storage, "origin"> | undefined;
  const s3 = async () => {
    if (opened === undefined) {
      const { openS3 } = await import("./s3Gateway.ts");
      opened ??= openS3(settings);
    }
    return opened;
  };
  return {
    origin: originOf(settings),
    presignUpload: async (...input) => (await s3()).presignUpload(...input),
    presignDownload: async (...input) => (await s3()).presignDownload(...input),
    seal: async (...input) => (await s3()).seal(...input),
    write: async (...input) => (await s3()).write(...input),
    read: async (...input) => (await s3()).read(...input),
    list: async (...input) => (await s3()).list(...input),
    head: async (...input) => (await s3()).head(...input),
    delete: async (...input) => (await s3()).delete(...input),
    close: async () => opened?.close(),
  };
}
