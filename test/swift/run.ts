/**
 * `npm run check:swift`: runs the tests of uploads against OpenStack Swift, an S3-compatible store that was written
 * independently of ours. Needs Debian's packages swift-proxy, swift-account, swift-container, swift-object and memcached.
 * Everything of it is in a temporary directory, and ends with the tests.
 */
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { testAccount } from "../setup/testStore.ts";
import { startSwift } from "./swift.ts";

const TESTS = ["test/gateways/storage.test.ts", "test/procedures/bids", "test/market/uploads"];

const directory = await mkdtemp(join(tmpdir(), "rebid-swift-"));
try {
  const swift = await startSwift(directory, testAccount);
  try {
    process.exitCode = await runTests({ TEST_S3_ENDPOINT: swift.endpoint });
  } finally {
    await swift.stop();
  }
} finally {
  await rm(directory, { recursive: true, force: true });
}

/** Returns the exit code. */
function runTests(variables: NodeJS.ProcessEnv): Promise<number> {
  // One file at a time: they share a bucket, and a sweep leaves nothing of the others.
  const command = ["run", "--config", "test/vitest.config.ts", "--no-file-parallelism", ...TESTS];
  const tests = spawn("vitest", command, { stdio: "inherit", env: { ...process.env, ...variables } });
  return new Promise((resolve, reject) => tests.once("error", reject).once("exit", (code) => resolve(code ?? 1)));
}
