import { mergeConfig } from "vitest/config";
import suite from "../vitest.config.ts";

/** `npm run check:failover`: the event log on clusters that fail over, and reads on standbys. They are of Debian's PostgreSQL, as root or as any user. */
export default mergeConfig(
  { ...suite, test: { ...suite.test, include: [], globalSetup: [] } },
  { test: { include: ["test/failover/*.check.ts"], maxWorkers: 1 } },
);
