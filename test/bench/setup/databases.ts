import pg from "pg";
import { migrateDatabase } from "../../../server/store/schema.ts";

/** Creates databases on the bench's own Postgres. */
export interface Databases {
  /** Returns the URL of a new database with the service's tables. */
  migrated(name: string): Promise<string>;
  empty(name: string): Promise<string>;
  /** Returns the URL of a copy, file by file, of a database that nothing is connected to. */
  copyOf(databaseUrl: string, name: string): Promise<string>;
}

export function databasesOf(postgresUrl: string): Databases {
  const create = async (name: string, template?: string) => {
    const admin = new pg.Client({ connectionString: postgresUrl });
    await admin.connect();
    await admin.query(
      `CREATE DATABASE ${name} ${template === undefined ? "" : `TEMPLATE ${template} STRATEGY file_copy`}`,
    );
    await admin.end();
    return postgresUrl.replace(/\/rebid$/, `/${name}`);
  };
  return {
    async migrated(name) {
      const url = await create(name);
      await migrateDatabase(url, url);
      return url;
    },
    empty: (name) => create(name),
    copyOf: (databaseUrl, name) => create(name, new URL(databaseUrl).pathname.slice(1)),
  };
}
