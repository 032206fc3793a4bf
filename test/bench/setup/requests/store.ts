import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import getPort from "get-port";
import type { BenchEnvironment } from "../bench.ts";
import { startProcess } from "../processes.ts";

/** Starts the object store that all sides use, and returns its port and the settings of the sides. */
export async function startStore(environment: BenchEnvironment) {
  // In memory where there is a file system for that: the disk would take the same time on all sides.
  const parent = existsSync("/dev/shm") ? "/dev/shm" : environment.directory;
  const directory = await mkdtemp(join(parent, "rebid-bench-"));
  environment.onEnd(() => rm(directory, { recursive: true, force: true }));
  const port = await getPort();
  const variables = {
    S3_ENDPOINT: `http://127.0.0.1:${port}`,
    ...{ S3_BUCKET: "bench", S3_REGION: "us-east-1", S3_ACCESS_KEY_ID: "bench", S3_SECRET_ACCESS_KEY: "bench-secret" },
  };
  const file = new URL("../objectStore.ts", import.meta.url).pathname;
  const ready = /^ready$/;
  await startProcess(environment, file, {
    environment: { ...variables, PORT: String(port), OBJECTS: directory },
    ready,
  });
  return { port, variables };
}
