import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import type { TestProject } from "vitest/node";
import { ensureServiceRole } from "../../server/local/postgres/serviceRole.ts";
import { startPostgres } from "../../server/local/postgres/start.ts";
import { migrateDatabase } from "../../server/store/schema.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The superuser. */
    postgresUrl: string;
    /** The role that the tests' services use, so that a missing grant fails a test. */
    serviceRoleUrl: string;
  }
}

export const TEMPLATE_DATABASE = "rebid_template";

/** One Postgres for the whole run, with a migrated database that each test file clones. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const directory = await mkdtemp(join(tmpdir(), "rebid-test-"));
  const postgres = await startPostgres({ directory, durable: false });
  const admin = new pg.Client({ connectionString: postgres.url });
  await admin.connect();
  await admin.query(`CREATE DATABASE ${TEMPLATE_DATABASE}`);
  const templateUrl = postgres.url.replace(/\/rebid$/, `/${TEMPLATE_DATABASE}`);
  const serviceRoleUrl = await ensureServiceRole(postgres.url);
  await migrateDatabase(templateUrl, serviceRoleUrl);
  await admin.end();
  project.provide("postgresUrl", postgres.url);
  project.provide("serviceRoleUrl", serviceRoleUrl);
  return async () => {
    await postgres.stop();
    await rm(directory, { recursive: true, force: true });
  };
}
