import { randomBytes } from "node:crypto";
import pg from "pg";
import { inject } from "vitest";
import { TEMPLATE_DATABASE } from "./globalSetup.ts";

export interface TestDatabase {
  /** The role that services use. */
  url: string;
  /** The superuser that owns the schema. */
  ownerUrl: string;
  drop(): Promise<void>;
}

/** A database of its own for one test file, cloned from the migrated template in some 50 ms. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const adminUrl = inject("postgresUrl");
  const name = `test_${randomBytes(6).toString("hex")}`;
  await asAdmin(adminUrl, async (admin) => {
    // Two files that clone at the same moment wait for each other.
    await admin.query("SELECT pg_advisory_lock(1)");
    // Copying files takes half the CPU time of copying pages through the log, which nobody replays here.
    await admin.query("SET file_copy_method = clone");
    await admin.query(`CREATE DATABASE ${name} TEMPLATE ${TEMPLATE_DATABASE} STRATEGY FILE_COPY`);
  });
  return {
    url: inject("serviceRoleUrl").replace(/\/rebid$/, `/${name}`),
    ownerUrl: adminUrl.replace(/\/rebid$/, `/${name}`),
    drop: () => asAdmin(adminUrl, async (admin) => void (await admin.query(`DROP DATABASE ${name} WITH (FORCE)`))),
  };
}

let administration: pg.Pool | undefined;

/** Runs `work` on the process's one connection as superuser: files come one after another, and each connection takes 5 ms. */
async function asAdmin(url: string, work: (admin: pg.PoolClient) => Promise<void>): Promise<void> {
  if (administration === undefined) {
    administration = new pg.Pool({ connectionString: url, max: 1, idleTimeoutMillis: 0, allowExitOnIdle: true });
    // Postgres stops when all tests are over, perhaps before this process.
    administration.on("error", () => undefined);
  }
  const admin = await administration.connect();
  try {
    await work(admin);
  } finally {
    await admin.query("SELECT pg_advisory_unlock_all()");
    admin.release();
  }
}
