import { audit } from "../audit/audit.ts";
import { printReport } from "../audit/report.ts";
import type { Services } from "../services.ts";
import { withServices } from "./openServices.ts";
import { runCommand, withArguments } from "./runCommand.ts";

const usage = `Checks the ledger of a running service to the cent.

Usage:
  npm run audit

Exit codes:
  0  everything is correct
  1  discrepancies were found; each is listed
  2  the check could not be made, or only partly`;

async function checkLedger(services: Services): Promise<number> {
  const report = await audit(services, { since: null });
  console.log(printReport(report));
  if (report.count > 0) return 1;
  return report.notCompared === null ? 0 : 2;
}

await runCommand({
  usage,
  failureCode: 2,
  parse: withArguments({ options: {}, maxPositionals: 0 }, () => withServices(checkLedger)),
});
