import { mergeConfig } from "vitest/config";
import suite from "../vitest.config.ts";

/** The checks of `npm run check:failover`, which are of Debian's PostgreSQL. Those with Patroni need root. */
export default mergeConfig(
  { ...suite, test: { ...suite.test, include: [], globalSetup: [] } },
  { test: { include: ["test/failover/*.check.ts"], maxWorkers: 1 } },
);
