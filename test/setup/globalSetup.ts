import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import type { TestProject } from "vitest/node";
import { ensureServiceRole } from "../../server/local/postgres/serviceRole.ts";
import { startPostgres } from "../../server/local/postgres/start.ts";
import { migrateDatabase } from "../../server/store/schema.ts";
import { compileModules } from "./compileModules.ts";
import { copyCluster } from "./copyCluster.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The superuser. */
    postgresUrl: string;
    /** The role that the tests' services use, so that a missing grant fails a test. */
    serviceRoleUrl: string;
    /** A data directory whose service has stopped, with a migrated database: starting on a copy takes two thirds of the time. */
    preparedDirectory: string;
    /** Where the workers write down which documented answers were given. */
    answersFolder: string;
  }
}

export const TEMPLATE_DATABASE = "rebid_template";

/** One Postgres for the whole run, with a migrated database that each test file clones. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const compiled = compileModules();
  const directory = await mkdtemp(join(tmpdir(), "rebid-test-"));
  const first = await startPostgres({ directory, durable: false });
  await migrateDatabase(first.url, await ensureServiceRole(first.url));
  await first.stop();
  const preparedDirectory = join(directory, "prepared");
  await prepare(preparedDirectory, directory, first.url);

  const postgres = await startPostgres({ directory, durable: false, previousUrl: first.url });
  const serviceRoleUrl = await ensureServiceRole(postgres.url);
  const admin = new pg.Client({ connectionString: postgres.url.replace(/\/rebid$/, "/postgres") });
  await admin.connect();
  await admin.query(`CREATE DATABASE ${TEMPLATE_DATABASE} TEMPLATE rebid`);
  await admin.end();
  project.provide("postgresUrl", postgres.url);
  project.provide("serviceRoleUrl", serviceRoleUrl);
  project.provide("preparedDirectory", preparedDirectory);
  const answersFolder = process.env.ANSWERS_FOLDER ?? join(directory, "answers");
  await mkdir(answersFolder, { recursive: true });
  project.provide("answersFolder", answersFolder);
  await compiled;
  return async () => {
    await checkAnswers(project, answersFolder);
    await postgres.stop();
    await rm(directory, { recursive: true, force: true });
  };
}

/** Copies the stopped cluster of `directory`, with the state that a service would leave, without its port. */
async function prepare(prepared: string, directory: string, ownerUrl: string): Promise<void> {
  await mkdir(prepared);
  copyCluster(join(directory, "postgres"), join(prepared, "postgres"));
  const databaseOwnerUrl = Object.assign(new URL(ownerUrl), { port: "" }).href;
  await writeFile(join(prepared, "local.json"), JSON.stringify({ pid: process.pid, databaseOwnerUrl }));
}

/** After a run of the whole suite without failures: fails if a documented answer was given in no test. */
async function checkAnswers(project: TestProject, folder: string): Promise<void> {
  const { state } = project.vitest;
  const { testFiles } = await project.globTestFiles();
  // The fast tests lack the first of them, and the run through a pooler the second.
  const ofTheSuite = ["test/lifecycle/lifecycle.test.ts", "test/imports.test.ts"];
  const isSuite = ofTheSuite.every((name) => testFiles.some((file) => file.endsWith(name)));
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
