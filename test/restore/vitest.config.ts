import { mergeConfig } from "vitest/config";
import suite from "../vitest.config.ts";

/** The check of `npm run check:restore`, which needs Debian's PostgreSQL for its tools. */
export default mergeConfig(
  { ...suite, test: { ...suite.test, include: [], globalSetup: [] } },
  { test: { include: ["test/restore/*.check.ts"], maxWorkers: 1 } },
);
