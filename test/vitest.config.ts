import { defineConfig } from "vitest/config";
import { LongestFirst } from "./setup/longestFirst.ts";

export default defineConfig({
  // The SDK's package, from its source. Not `module`, which Vite adds: it leads to files of the AWS SDK that Node cannot load.
  ssr: { resolve: { conditions: ["@rebid/source", "node", "development|production"] } },
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: "test/setup/globalSetup.ts",
    pool: "forks",
    // A file's state is in its own database and servers, so files can share a process and load the modules once.
    isolate: false,
    // One more than the two cores, because some files mostly wait: 323 s instead of 366 s (measured in a row).
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    // These only end what hangs: how long a thing takes on a busy machine says nothing about its correctness.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    expect: { poll: { timeout: 60_000 } },
  },
});
