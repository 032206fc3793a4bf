import { pino } from "pino";
import { expect, test } from "vitest";
import type { Connection, Sql } from "../../server/store/connection.ts";
import { StandbyReads } from "../../server/store/publicReads.ts";

const SECOND_MS = 1_000;
const START_MS = Date.parse("2026-11-20T12:00:00Z");

/** A server whose position in the log the test decides. */
class Server implements Connection {
  readonly name: string;
  lsn: number | null;
  at = START_MS;
  isDown = false;

  constructor(name: string, lsn: number) {
    this.name = name;
    this.lsn = lsn;
  }

  async query<Row extends object>(_statement: Sql): Promise<Row[]> {
    if (this.isDown) throw new Error("down");
    const lsn = this.lsn === null ? null : String(this.lsn);
    const row = { lsn, at: new Date(this.at).toISOString(), segmentBytes: 2 ** 24 };
    // The double returns the row that the positions' two statements have.
    return [row as unknown as Row];
  }
}

function open({ replayed = [100] }: { replayed?: number[] } = {}) {
  const primary = new Server("primary", 100);
  const standbys = replayed.map((lsn, index) => new Server(`standby ${index}`, lsn));
  const reads = new StandbyReads(primary, standbys, pino({ level: "silent" }));
  const asked = (cursorMs?: number) =>
    reads.read(
      async (connection) => {
        if (!(connection instanceof Server)) throw new Error("another connection");
        if (connection.isDown) throw new Error("down");
        return connection.name;
      },
      cursorMs === undefined ? undefined : new Date(cursorMs).toISOString(),
    );
  return { primary, standbys, reads, asked };
}

test("before the first look, the primary is asked", async () => {
  const { asked } = open();
  expect(await asked()).toBe("primary");
});

test("the first standby that has replayed everything is asked", async () => {
  const { reads, asked } = open({ replayed: [99, 100, 100] });
  await reads.look();
  expect(await asked()).toBe("standby 1");
});

test("a standby is asked while it has replayed what the primary had written a look before, and no longer", async () => {
  const { primary, standbys, reads, asked } = open();
  await reads.look();
  primary.lsn = 200;
  await reads.look();
  expect(await asked()).toBe("standby 0");
  primary.lsn = 300;
  await reads.look();
  expect(await asked()).toBe("primary");
  for (const standby of standbys) standby.lsn = 300;
  await reads.look();
  expect(await asked()).toBe("standby 0");
});

test("a standby that became the primary is no longer asked", async () => {
  const { standbys, reads, asked } = open();
  await reads.look();
  for (const standby of standbys) standby.lsn = null;
  await reads.look();
  expect(await asked()).toBe("primary");
});

test("what a standby fails to answer is asked of the primary, at once", async () => {
  const { standbys, reads, asked } = open();
  await reads.look();
  for (const standby of standbys) standby.isDown = true;
  expect(await asked()).toBe("primary");
});

test("while the primary gives no position, no standby is asked", async () => {
  const { primary, reads, asked } = open();
  await reads.look();
  primary.isDown = true;
  await reads.look();
  await expect(asked()).rejects.toThrow("down");
});

test("a page whose cursor is newer than the replay is asked of the primary, until no reader can have seen more there", async () => {
  const { primary, reads, asked } = open();
  await reads.look();
  expect(await asked(START_MS - 1)).toBe("standby 0");
  const cursorMs = START_MS + SECOND_MS / 2;
  expect(await asked(cursorMs)).toBe("primary");
  primary.at += SECOND_MS;
  await reads.look();
  // The look before was at START_MS.
  expect(await asked(cursorMs)).toBe("primary");
  await reads.look();
  expect(await asked(cursorMs)).toBe("primary");
  await reads.look();
  await reads.look();
  expect(await asked(cursorMs)).toBe("standby 0");
});

test("a standby takes over only when it has replayed what a read under way on the primary can have seen", async () => {
  const { primary, standbys, reads, asked } = open();
  const slow = Promise.withResolvers<void>();
  const underWay = reads.read(() => slow.promise);
  const look = reads.look();
  const later = asked();
  primary.lsn = 150;
  slow.resolve();
  await underWay;
  await look;
  expect(await later).toBe("primary");
  for (const standby of standbys) standby.lsn = 150;
  await reads.look();
  expect(await asked()).toBe("standby 0");
});
