import { earningsAsCsv, readEarnings } from "../market/papers/tax.ts";
import type { Services } from "../services.ts";
import { withServices } from "./openServices.ts";
import { type Command, runCommand, UsageError, withArguments } from "./runCommand.ts";

const usage = `Prints what each bidder earned in each quarter of a year, as tax authorities ask for it.

Usage:
  npm run tax -- YEAR --format csv
      With npm run --silent, only the list is printed, as for a file.
      Columns: bidderId, email (empty for a closed account), quarter, grossCents (what buyers paid), feeCents (what the platform
      took), netCents, tasks. Quarters are those of OPERATOR_TIMEZONE, and the sums those of the ledger.

Exit codes:
  0  done
  1  failed
  2  the arguments are invalid`;

async function print({ database, settings }: Services, year: number): Promise<void> {
  const earned = await readEarnings(database, { year, timeZone: settings.operatorTimeZone });
  console.log(earningsAsCsv(earned).trimEnd());
}

export const command: Command = {
  usage,
  parse: withArguments(
    { options: { format: { type: "string" } }, maxPositionals: 1 },
    ({ positionals: [year], values: { format } }) => {
      if (year === undefined || !/^2\d{3}$/.test(year)) throw new UsageError("YEAR must be a year, such as 2026.");
      if (format !== "csv") throw new UsageError("--format must be csv.");
      return withServices((services) => print(services, Number(year)));
    },
  ),
};

if (import.meta.main) await runCommand(command);
