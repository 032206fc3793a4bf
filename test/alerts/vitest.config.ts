import { mergeConfig } from "vitest/config";
import suite from "../vitest.config.ts";

/** `npm run check:alerts`. Each fault leaves the service as the next one expects it, so the first failure ends the run. */
export default mergeConfig(
  { ...suite, test: { ...suite.test, include: [] } },
  { test: { include: ["test/alerts/*.check.ts"], maxWorkers: 1, bail: 1 } },
);
