import { cp, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { applyMigrations } from "../../prisma/migrate.ts";
import { createTestDatabase } from "../setup/testDatabase.ts";

test("an upgraded installation tells of nothing that happened before", async () => {
  const database = await createTestDatabase();
  onTestFinished(database.drop);
  const client = new pg.Client({ connectionString: database.ownerUrl });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query("CREATE DATABASE before_notifications");
  onTestFinished(async () => void (await client.query("DROP DATABASE before_notifications WITH (FORCE)")));
  const url = Object.assign(new URL(database.ownerUrl), { pathname: "/before_notifications" }).href;
  const directory = await mkdtemp(join(tmpdir(), "rebid-migrations-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const names = (await readdir("prisma/migrations")).sort();
  const first = names.findIndex((name) => name.endsWith("_notifications"));
  const copy = (chosen: string[]) =>
    Promise.all(chosen.map((name) => cp(join("prisma/migrations", name), join(directory, name), { recursive: true })));
  await copy(names.slice(0, first));
  await applyMigrations(url, { directory });
  const upgraded = new pg.Client({ connectionString: url });
  await upgraded.connect();
  await upgraded.query("UPDATE event_log_state SET last_position = 7");
  await copy(names.slice(first));
  await applyMigrations(url, { directory });
  const { rows } = await upgraded.query("SELECT position::int FROM notification_cursor");
  await upgraded.end();
  expect(rows).toEqual([{ position: 7 }]);
});
