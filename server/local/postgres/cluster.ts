import { mkdtemp, readdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { handOver } from "./account.ts";
import { DATABASE_NAME, run, type Server, settingFlags, USER_NAME } from "./program.ts";

/**
 * Creates a cluster with its user and database in a temporary directory and then moves it into place, so that it exists
 * either completely or not at all.
 */
export async function createCluster(server: Server, password: string): Promise<void> {
  const parent = dirname(server.cluster);
  const prefix = "postgres.new-";
  for (const name of await readdir(parent)) {
    // A killed start has left this behind. If its initdb is still writing there, the next start removes it.
    if (name.startsWith(prefix)) await rm(join(parent, name), { recursive: true, force: true }).catch(() => {});
  }
  const unfinished = await mkdtemp(join(parent, prefix));
  await handOver(unfinished, server.launch);
  server.log("Creating the database");
  await run(server, "initdb", [
    ...["-D", unfinished, `--username=${USER_NAME}`, "--encoding=UTF8", "--no-instructions"],
    // The same collation and case rules on every machine: the system's libraries are not used.
    ...["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"],
    // With password authentication, initdb would need a password file that the account can read. It is simpler to start
    // with `trust` and to replace the rule below.
    ...["--auth=trust", ...(server.durable ? [] : ["--no-sync"])],
  ]);
  await runStatements(server, unfinished, [setPassword(password), `CREATE DATABASE ${DATABASE_NAME}`]);
  await writeFile(join(unfinished, "pg_hba.conf"), "host all all 127.0.0.1/32 scram-sha-256\n", { flush: true });
  await rename(unfinished, server.cluster);
}

/** Sets the password of the database user in a stopped cluster. */
export async function changePassword(server: Server, password: string): Promise<void> {
  await runStatements(server, server.cluster, [setPassword(password)]);
}

function setPassword(password: string): string {
  return `ALTER ROLE ${USER_NAME} PASSWORD '${password.replaceAll("'", "''")}'`;
}

/** Runs SQL statements (one line each) in a stopped cluster. Single-user mode needs no authentication. */
async function runStatements(server: Server, cluster: string, statements: string[]): Promise<void> {
  const flags = settingFlags(server, 1, { exit_on_error: "on", log_statement: "none" });
  await run(server, "postgres", ["--single", "-D", cluster, ...flags, "postgres"], `${statements.join("\n")}\n`);
}
