import { mergeConfig } from "vitest/config";
import suite from "../vitest.config.ts";

/**
 * `npm run check:pooler`: the lifecycle, repeats and races of the market with the requests' connections through Debian's
 * PgBouncer in transaction mode.
 */
export default mergeConfig(
  { ...suite, test: { ...suite.test, include: [] } },
  {
    test: {
      env: { TEST_POOLER: "transaction" },
      include: [
        "test/pooler/*.check.ts",
        "test/lifecycle/*.test.ts",
        "test/repeats/*.test.ts",
        "test/market/tasks/*.test.ts",
        "test/store/transaction.test.ts",
      ],
    },
  },
);
