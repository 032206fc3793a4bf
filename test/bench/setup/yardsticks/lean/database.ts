import pg from "pg";

pg.types.setTypeParser(20, Number); // bigint
pg.types.setTypeParser(1184, (text) => `${text.replace(" ", "T").slice(0, -3)}Z`); // timestamptz, in a session in UTC

/** Runs a prepared statement. */
export type Run = <Row extends object>(name: string, values: unknown[]) => Promise<Row[]>;

export const pool = new pg.Pool({
  connectionString: process.env.DATABASE_URL,
  max: 20,
  options: "-c TimeZone=UTC",
});

/** Returns a function that runs one of these statements, prepared once a connection, and again if it ended in a deadlock. */
export function prepared(statements: Record<string, string>): Run {
  return async <Row extends object>(name: string, values: unknown[]) => {
    for (;;) {
      try {
        return (await pool.query<Row>({ name, text: statements[name] ?? "", values })).rows;
      } catch (error) {
        if (!(error instanceof pg.DatabaseError && error.code === "40P01")) throw error;
      }
    }
  };
}
