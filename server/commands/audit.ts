import { audit } from "../audit/audit.ts";
import { printReport } from "../audit/report.ts";
import { ConfigError } from "../config.ts";
import { isDatabaseAway } from "../store/databaseErrors.ts";
import { expectNoArguments } from "./noArguments.ts";
import { openServices } from "./openServices.ts";

/**
 * `npm run audit`: checks a live service's ledger. Exits with 0 when it is right, 1 when it is off, 2 when it could not be
 * checked, or not in full, or was given arguments.
 */
async function main(): Promise<number> {
  const { services, close } = await openServices();
  try {
    const report = await audit(services, { since: null });
    console.log(printReport(report));
    if (report.count > 0) return 1;
    return report.notCompared === null ? 0 : 2;
  } finally {
    await close();
  }
}

function explain(error: unknown): string {
  const expected = error instanceof ConfigError || isDatabaseAway(error);
  if (!(error instanceof Error)) return String(error);
  return expected ? error.message : (error.stack ?? error.message);
}

expectNoArguments("audit");
main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    console.error(`The ledger could not be checked.\n${explain(error)}`);
    process.exit(2);
  },
);
