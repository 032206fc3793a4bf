import pg from "pg";
import { openPool } from "./connection.ts";
import { isServerSilent } from "./databaseErrors.ts";

/** A server that has stopped answering is noticed after one pause and two time-outs, that is within 13 s. */
const PAUSE_MS = 3_000;
const TIMEOUT_SECONDS = 5;

/**
 * Closes the connections of a pool when the server has left two small questions in a row unanswered. In the background,
 * statements may run for minutes, and the connection on which the job queue listens asks nothing, so no time-out would tell
 * them that the server is suspended. Two, because a process that was suspended itself finds its first question too old.
 */
export function closeWhenSilent(pool: pg.Pool, databaseUrl: string): { stop(): Promise<void> } {
  const questions = openPool(databaseUrl, {
    ...{ name: "rebid check", poolSize: 1, silenceTimeoutSeconds: TIMEOUT_SECONDS },
  });
  const open = new Set<pg.PoolClient>();
  pool.on("connect", (client) => void open.add(client));
  pool.on("remove", (client) => void open.delete(client));

  const isSilent = () =>
    questions.query("SELECT 1").then(
      () => false,
      (error: unknown) => isServerSilent(error),
    );
  const check = async () => {
    if (open.size === 0 || !(await isSilent()) || !(await isSilent())) return;
    for (const client of open) if (client instanceof pg.Client) client.connection.stream.destroy();
  };
  let checking = Promise.resolve();
  const next = () => {
    checking = check().then(() => {
      timer = setTimeout(next, PAUSE_MS).unref();
    });
  };
  let timer = setTimeout(next, PAUSE_MS).unref();
  return {
    async stop() {
      await checking;
      clearTimeout(timer);
      await questions.end();
    },
  };
}
