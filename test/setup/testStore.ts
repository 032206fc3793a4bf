import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StorageSettings } from "../../server/gateways/storage.ts";
import { startObjectStore } from "../../server/local/objectStore/start.ts";

export interface TestStore {
  settings: StorageSettings;
  stop(): Promise<void>;
}

const sharedEndpoint = process.env.TEST_S3_ENDPOINT;

/** Whether the store computes the SHA-256 of objects, which is an extension of S3's API. */
export const storeHasChecksums = sharedEndpoint === undefined;

export const testAccount = {
  bucket: "rebid",
  region: "us-east-1",
  accessKeyId: "test:tester",
  secretAccessKey: "test-secret",
};

/**
 * An object store for one test file: an embedded one of its own, or the one at `TEST_S3_ENDPOINT`, which has the bucket
 * and the keys above (`npm run check:swift`). That one is shared, so tests must not rely on being alone.
 */
export async function startTestStore(): Promise<TestStore> {
  if (sharedEndpoint !== undefined) {
    return { settings: { ...testAccount, endpoint: sharedEndpoint }, stop: async () => undefined };
  }
  const directory = await mkdtemp(join(tmpdir(), "rebid-objects-"));
  const store = await startObjectStore({ ...testAccount, directory });
  return {
    settings: { ...testAccount, endpoint: store.url },
    async stop() {
      await store.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
