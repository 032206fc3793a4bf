import { appendFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, inject, onTestFinished, test } from "vitest";
import { openCursors } from "../../server/events/cursor.ts";
import { advanceLog, readLog } from "../../server/events/log.ts";
import { startPostgres } from "../../server/local/postgres/start.ts";
import { queryOne, sql } from "../../server/store/connection.ts";
import { type Database, openDatabase } from "../../server/store/database.ts";
import { copyCluster } from "../setup/copyCluster.ts";

const cursors = openCursors(["a secret of the tests"]);

/** Copies the files of a stopped Postgres, and lets the copy begin a timeline of its own, as after a promotion or a restore. */
async function fork(source: string, target: string): Promise<void> {
  await mkdir(target);
  copyCluster(join(source, "postgres"), join(target, "postgres"));
  await writeFile(join(target, "postgres", "recovery.signal"), "");
  await appendFile(join(target, "postgres", "postgresql.conf"), "\nrestore_command = 'false'\n");
}

/** Runs `work` on the database of a data directory. */
async function on(directory: string, previousUrl: string | null, work: (database: Database) => Promise<void>) {
  const postgres = await startPostgres({
    directory,
    durable: false,
    ...(previousUrl !== null && { previousUrl }),
  });
  const database = openDatabase(postgres.url, { poolSize: 2 });
  try {
    await work(database);
  } finally {
    await database.close();
    await postgres.stop();
  }
  return postgres.url;
}

/** Records an event that concerns everyone. */
async function record(database: Database): Promise<string> {
  const { id } = await queryOne<{ id: string }>(
    database,
    sql`
    WITH recorded AS (
      INSERT INTO events (type, data, fanned_out_at) VALUES ('task.updated', '{}'::json, now()) RETURNING id),
    queued AS (INSERT INTO event_log_queue (event_id) SELECT id FROM recorded)
    SELECT id FROM recorded`,
  );
  return id;
}

const latest = async (database: Database) => cursors.encrypt(await advanceLog(database));

async function read(database: Database, cursor: string): Promise<string[]> {
  const reader = { userId: crypto.randomUUID(), keyId: null, types: null };
  const { events } = await readLog(database, reader, { after: cursors.decrypt(cursor), limit: 100 });
  return events.map(({ eventId }) => eventId);
}

test("in a copy of the database on another timeline, cursors from before the copy go on, and later ones are expired", async () => {
  const root = await mkdtemp(join(tmpdir(), "rebid-copies-"));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const [first, copy] = [join(root, "first"), join(root, "copy")];
  await mkdir(first);
  copyCluster(join(inject("preparedDirectory"), "postgres"), join(first, "postgres"));

  const ids: string[] = [];
  const kept: string[] = [];
  const lost: string[] = [];
  const url = await on(first, null, async (database) => {
    kept.push(await latest(database));
    for (let event = 0; event < 2; event++) {
      ids.push(await record(database));
      kept.push(await latest(database));
    }
    // Recorded, and not numbered yet: each copy does that by itself, with the same result.
    ids.push(await record(database));
  });
  await fork(first, copy);
  await on(first, url, async (database) => {
    kept.push(await latest(database));
    for (let event = 0; event < 2; event++) {
      await record(database);
      lost.push(await latest(database));
    }
  });
  await on(copy, url, async (database) => {
    const recovery = () => database.query(sql`SELECT pg_is_in_recovery() AS "isUnderWay"`);
    await expect.poll(recovery).toEqual([{ isUnderWay: false }]);
    await database.query(sql`CHECKPOINT`);
    expect(await database.query(sql`SELECT timeline_id AS timeline FROM pg_control_checkpoint()`)).toEqual([
      { timeline: 2 },
    ]);
    // While the log is shorter than the lost cursors, as long as they are, and longer.
    for (let event = 0; event < 4; event++) {
      for (const [index, cursor] of kept.entries()) expect(await read(database, cursor)).toEqual(ids.slice(index));
      for (const cursor of lost) await expect(read(database, cursor)).rejects.toMatchObject({ code: "cursor_expired" });
      ids.push(await record(database));
    }
  });
});
