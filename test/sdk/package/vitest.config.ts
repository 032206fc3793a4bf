import { mergeConfig } from "vitest/config";
import suite from "../../vitest.config.ts";

/** `npm run check:sdk`: checks of the package that would be published. They need the tools in test/tools. */
export default mergeConfig(
  { ...suite, test: { ...suite.test, include: [] } },
  { test: { include: ["test/sdk/package/*.check.ts"], testTimeout: 120_000, hookTimeout: 120_000, maxWorkers: 1 } },
);
