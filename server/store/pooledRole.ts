import { MigrationError } from "../../prisma/migrate.ts";
import { openPool, sessionSettingsOf } from "./connection.ts";
import type { PoolSettings } from "./poolSettings.ts";

/**
 * Checks that the role has the settings that a pooler keeps the service from sending.
 * @throws MigrationError with the statements that set them
 */
export async function checkPooledRole(pooledUrl: string, settings: PoolSettings): Promise<void> {
  const expected = Object.entries(sessionSettingsOf(settings));
  const pool = openPool(pooledUrl, { ...settings, poolSize: 1 });
  try {
    const { rows } = await pool.query<{ name: string; setting: string; role: string }>(
      "SELECT name, setting, quote_ident(current_user) AS role FROM pg_settings WHERE name = ANY ($1::text[])",
      [expected.map(([name]) => name)],
    );
    const actual = new Map(rows.map(({ name, setting }) => [name, setting]));
    const missing = expected.filter(([name, value]) => actual.get(name) !== value);
    if (missing.length === 0) return;
    const statements = missing.map(([name, value]) => `ALTER ROLE ${rows[0]?.role} SET ${name} = '${value}';`);
    throw new MigrationError(
      "Behind a pooler, the database role says the time zone and the time-outs. Run this as the owner, let the pooler " +
        `connect to the database anew, and start again:\n  ${statements.join("\n  ")}`,
    );
  } finally {
    await pool.end();
  }
}
