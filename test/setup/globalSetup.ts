import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import type { TestProject } from "vitest/node";
import { applyMigrations } from "../../prisma/migrate.ts";
import { migrateJobs } from "../../server/jobs/worker.ts";
import { startPostgres } from "../../server/local/postgres/start.ts";

declare module "vitest" {
  interface ProvidedContext {
    postgresUrl: string;
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
  await applyMigrations(templateUrl);
  await migrateJobs(templateUrl);
  await admin.end();
  project.provide("postgresUrl", postgres.url);
  return async () => {
    await postgres.stop();
    await rm(directory, { recursive: true, force: true });
  };
}
