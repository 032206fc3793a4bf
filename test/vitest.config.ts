import { defineConfig } from "vitest/config";
import { LongestFirst } from "./setup/longestFirst.ts";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: "test/setup/globalSetup.ts",
    pool: "forks",
    // A file's state is in its own database and servers, so files can share a process and load the modules once.
    isolate: false,
    // Two cores. A third worker slows the other two down by as much as it does itself (measured).
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
