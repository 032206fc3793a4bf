import { mkdir, mkdtemp, rm } from "node:fs/promises";
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
    /** Where the workers write down which documented answers were given. */
    answersFolder: string;
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
  const answersFolder = process.env.ANSWERS_FOLDER ?? join(directory, "answers");
  await mkdir(answersFolder, { recursive: true });
  project.provide("answersFolder", answersFolder);
  return async () => {
    await checkAnswers(project, answersFolder);
    await postgres.stop();
    await rm(directory, { recursive: true, force: true });
  };
}

/** After a run of the whole suite without failures: fails if a documented answer was given in no test. */
async function checkAnswers(project: TestProject, folder: string): Promise<void> {
  const { state } = project.vitest;
  const { testFiles } = await project.globTestFiles();
  const isSuite = testFiles.some((file) => file.endsWith("test/lifecycle/lifecycle.test.ts"));
  const isWhole =
    isSuite && state.getFiles().length === testFiles.length && project.globalConfig.testNamePattern === undefined;
  if (!isWhole || state.getCountOfFailedTests() > 0) return;
  // Loaded here because it loads the whole service, which a run of a few files need not wait for.
  const { missingAnswers } = await import("./documentedAnswers.ts");
  const missing = missingAnswers(folder);
  if (missing.length === 0) return;
  console.error(`The API document promises answers that no test has provoked:\n  ${missing.join("\n  ")}`);
  process.exitCode = 1;
}
