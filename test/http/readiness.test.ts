import { expect, test } from "vitest";
import { sql } from "../../server/store/connection.ts";
import { rest } from "../setup/client.ts";
import { useService } from "../setup/testService.ts";

const service = useService();
const readiness = async () => {
  const { status, body } = await rest(service.url, "GET", "/readyz");
  return [status, body];
};

test("/readyz says schema while the database lacks a migration or the history of them, and takes newer ones", async () => {
  const { owner } = service;
  await owner.query(sql`INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at)
    VALUES ('newer', '', '99990101000000_newer', now())`);
  expect(await readiness()).toEqual([200, { status: "ok" }]);
  const changes = [
    [
      sql`UPDATE _prisma_migrations SET rolled_back_at = now() WHERE migration_name LIKE '%event_log_failover'`,
      sql`UPDATE _prisma_migrations SET rolled_back_at = NULL`,
    ],
    [
      sql`ALTER TABLE _prisma_migrations RENAME TO missing_migrations`,
      sql`ALTER TABLE missing_migrations RENAME TO _prisma_migrations`,
    ],
  ] as const;
  for (const [lose, restore] of changes) {
    await owner.query(lose);
    expect(await readiness()).toEqual([503, { status: "schema" }]);
    await owner.query(restore);
    expect(await readiness()).toEqual([200, { status: "ok" }]);
  }
});
