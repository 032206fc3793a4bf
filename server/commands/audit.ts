import { ConfigError, readConfig } from "../config.ts";
import { openDatabase } from "../db/database.ts";
import { ProcessorUnavailable, stripeProcessor } from "../gateways/processor.ts";
import { audit, printReport } from "../ledger/audit.ts";
import { readLocalState } from "../local/dataDirectory.ts";
import { settingsOf } from "../local/localParts.ts";

/** `npm run audit`: checks a live service's ledger, with the service's own settings. Exit 0: right; 1: off; 2: not checked. */
async function main(): Promise<number> {
  const config = readConfig(process.env);
  const settings = settingsOf(config, readLocalState(config.dataDirectory));
  const database = openDatabase(settings.databaseUrl, { poolSize: 2 });
  const processor = stripeProcessor({
    ...settings.processor,
    webhookSecrets: [...settings.processor.webhookSecrets],
  });
  try {
    const report = await audit({ database, processor }, { since: null });
    console.log(printReport(report));
    return report.count === 0 ? 0 : 1;
  } finally {
    await database.close();
  }
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    const expected = error instanceof ConfigError || error instanceof ProcessorUnavailable;
    console.error(
      `The ledger was not checked.\n${expected ? error.message : error instanceof Error ? error.stack : error}`,
    );
    process.exit(2);
  },
);
