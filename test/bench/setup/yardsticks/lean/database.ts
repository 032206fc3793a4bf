import pg from "pg";

pg.types.setTypeParser(20, Number); // bigint
pg.types.setTypeParser(1184, (text) => `${text.replace(" ", "T").slice(0, -3)}Z`); // timestamptz, in a session in UTC

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 20, options: "-c TimeZone=UTC" });

/** Runs a statement, prepared once a connection. */
export type Run = <Row extends object>(name: string, values: readonly unknown[]) => Promise<Row[]>;

/** Runs statements by their names: by itself each, or some in a transaction. */
export function databaseOf(statements: Record<string, string>) {
  const runOn =
    (connection: Pick<pg.ClientBase, "query">): Run =>
    async <Row extends object>(name: string, values: readonly unknown[]) =>
      (await connection.query<Row>({ name, text: statements[name] ?? "", values: [...values] })).rows;
  return {
    run: runOn(pool),
    /** Commits what `change` returns from, rolls back what it throws out of, and runs it again after a deadlock. */
    async transaction<Result>(change: (run: Run) => Promise<Result>): Promise<Result> {
      for (;;) {
        const client = await pool.connect();
        try {
          await client.query("BEGIN");
          const result = await change(runOn(client));
          await client.query("COMMIT");
          return result;
        } catch (error) {
          await client.query("ROLLBACK");
          if (!(error instanceof pg.DatabaseError && error.code === "40P01")) throw error;
        } finally {
          client.release();
        }
      }
    },
  };
}

/** Returns the row of a statement that changes or finds one, and throws when there is none. */
export function only<Row>([row]: Row[]): Row {
  if (row === undefined) throw new Error("refused");
  return row;
}
