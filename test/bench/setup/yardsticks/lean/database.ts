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

/** Returns a function that runs one of these statements, each prepared once a connection. */
export function prepared(statements: Record<string, string>, client: pg.Pool | pg.PoolClient = pool): Run {
  return async <Row extends object>(name: string, values: unknown[]) => {
    const { rows } = await client.query<Row>({ name, text: statements[name] ?? "", values });
    return rows;
  };
}
