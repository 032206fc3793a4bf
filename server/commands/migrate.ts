import { MigrationError } from "../../prisma/migrate.ts";
import { readDatabaseUrls } from "../config.ts";
import { checkSchema, migrateDatabase } from "../store/schema.ts";
import { runCommand, withArguments } from "./runCommand.ts";

const usage = `Brings the database's schema up to date, and grants the service's role what it needs.

Usage, before the first start and after each update:
  DATABASE_OWNER_URL=… DATABASE_URL=… npm run migrate

  DATABASE_OWNER_URL   the role that owns the schema; keep it out of the service's own environment
  DATABASE_URL         the role that the service uses, which must exist; alone, it migrates as this role
  DATABASE_DIRECT_URL  instead of DATABASE_URL, if that leads to a pooler

An embedded database needs no command: \`npm start\` does the same.`;

async function migrate(): Promise<void> {
  // Not readConfig, because a migration needs no keys of the payment processor or the object store.
  const { DATABASE_URL, DATABASE_DIRECT_URL, DATABASE_OWNER_URL } = readDatabaseUrls(process.env);
  const serviceUrl = DATABASE_DIRECT_URL ?? DATABASE_URL ?? DATABASE_OWNER_URL;
  const ownerUrl = DATABASE_OWNER_URL ?? serviceUrl;
  if (ownerUrl === undefined || serviceUrl === undefined) {
    throw new MigrationError("Set DATABASE_OWNER_URL, and DATABASE_URL to the role that the service uses.");
  }
  const applied = await migrateDatabase(ownerUrl, serviceUrl);
  console.log(applied.length === 0 ? "No migration was missing." : `Applied:\n  ${applied.join("\n  ")}`);
  // With the service's own connection: it shows that both URLs name the same database.
  const { roleOwnsSchema } = await checkSchema(serviceUrl);
  console.log(
    roleOwnsSchema
      ? "The service's role may change the schema. Give the service a role of its own: see docs/guides/production.md."
      : "The service's role has what it needs, and no more.",
  );
}

await runCommand({ usage, parse: withArguments({ options: {}, maxPositionals: 0 }, () => migrate) });
