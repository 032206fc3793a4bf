import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import getPort from "get-port";
import { openPool } from "../../server/store/connection.ts";

/**
 * Starts Debian's PgBouncer in transaction mode in front of a database, with fewer connections than a service opens. It keeps
 * start-up options from the server, as an operator's would.
 */
export async function startPooler(databaseUrl: string): Promise<{ url: string; stop(): Promise<void> }> {
  const { username, password, hostname, port, pathname } = new URL(databaseUrl);
  const directory = await mkdtemp(join(tmpdir(), "rebid-pooler-"));
  const poolerPort = await getPort();
  const settings = join(directory, "pgbouncer.ini");
  await writeFile(
    settings,
    `[databases]
* = host=${hostname} port=${port} user=${decodeURIComponent(username)} password=${decodeURIComponent(password)}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${poolerPort}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 6
max_client_conn = 200
`,
  );
  await chmod(directory, 0o755);
  // It refuses to run as root.
  const identity = process.getuid?.() === 0 ? ["-u", "nobody"] : [];
  const child = spawn("pgbouncer", ["-q", ...identity, settings], { stdio: ["ignore", "ignore", "inherit"] });
  const exit = once(child, "exit");
  const url = `postgres://anybody@127.0.0.1:${poolerPort}${pathname}`;
  const pool = openPool(url, { poolSize: 1, pooler: "transaction" });
  const answers = () =>
    pool.query("SELECT 1").then(
      () => true,
      () => false,
    );
  while (child.exitCode === null && !(await answers())) await sleep(20);
  await pool.end();
  return {
    url,
    async stop() {
      child.kill("SIGINT");
      await exit;
      await rm(directory, { recursive: true, force: true });
    },
  };
}
