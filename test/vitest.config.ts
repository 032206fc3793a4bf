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

// Databases and data directories are files that live for seconds: a disk's file system took a tenth of the CPU time.
if (process.env.TMPDIR === undefined && hasMemory()) process.env.TMPDIR = MEMORY;

// Inherited by the workers and what they start.
Object.assign(process.env, compileCache);

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: "test/setup/globalSetup.ts",
    pool: "forks",
    // A file's state is in its own database and servers, so files can share a process and load the modules once.
    isolate: false,
    // Twice the two cores, because many files mostly wait: 262 s instead of 290 s with three (measured in a row).
    maxWorkers: 4,
    execArgv: [
      // The SDK's package, from its source.
      "--conditions=@rebid/source",
      // A worker loads the whole service, and its requests leave much garbage: 3 % less CPU time.
      "--max-semi-space-size=64",
      // Not four more threads in each of four processes on two cores: 3 % less in files that compute.
      "--v8-pool-size=1",
    ],
    // Node runs our TypeScript as it is, as in production. Vite's runner would transform all of it, look every import up at
    // each use, and map every stack that Playwright takes: 4 % of the CPU time.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    sequence: { sequencer: LongestFirst },
    // These only end what hangs: how long a thing takes on a busy machine says nothing about its correctness.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    expect: { poll: { timeout: 60_000 } },
  },
});
