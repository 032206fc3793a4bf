import { mergeConfig } from "vitest/config";
import suite from "../vitest.config.ts";

/**
 * `npm run check:deploy`: the files of `deploy/` against their schemas, and the proxies' configurations with Debian's nginx,
 * Caddy and HAProxy in front of a service. `STREAM_SECONDS` is how long a stream of events has to last.
 */
export default mergeConfig(
  { ...suite, test: { ...suite.test, include: [] } },
  { test: { include: ["test/deploy/*.check.ts"], testTimeout: 1_200_000 } },
);
