import { existsSync, statfsSync } from "node:fs";
import { defineConfig } from "vitest/config";
import { compileCache } from "./setup/compileCache.ts";
import { LongestFirst } from "./setup/longestFirst.ts";

/** Linux' file system in memory. */
const MEMORY = "/dev/shm";
const MIN_MEMORY_BYTES = 4 * 1024 ** 3;

function hasMemory(): boolean {
  if (!existsSync(MEMORY)) return false;
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize >= MIN_MEMORY_BYTES;
}

// Databases and data directories are files that live for seconds: a disk's file system took a tenth of the processor time.
if (process.env.TMPDIR === undefined && hasMemory()) process.env.TMPDIR = MEMORY;

// Inherited by the workers and what they start.
Object.assign(process.env, compileCache);

export default defineConfig({
  // The SDK's package, from its source. Not `module`, which Vite adds: it leads to files of the AWS SDK that Node cannot load.
  ssr: { resolve: { conditions: ["@rebid/source", "node", "development|production"] } },
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: "test/setup/globalSetup.ts",
    pool: "forks",
    // A file's state is in its own database and servers, so files can share a process and load the modules once.
    isolate: false,
    // Twice the two cores, because many files mostly wait: 262 s instead of 290 s with three (measured in a row).
    maxWorkers: 4,
    // A worker loads the whole service, and its requests leave much garbage: 3 % less of the processor.
    execArgv: ["--max-semi-space-size=64"],
    sequence: { sequencer: LongestFirst },
    // These only end what hangs: how long a thing takes on a busy machine says nothing about its correctness.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    expect: { poll: { timeout: 60_000 } },
  },
});
