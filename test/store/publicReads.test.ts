import { setImmediate as nextTurn } from "node:timers/promises";
import { pino } from "pino";
import { expect, test } from "vitest";
import { ApiError } from "../../server/errors.ts";
import type { Connection, Sql } from "../../server/store/connection.ts";
import { StandbyReads } from "../../server/store/publicReads.ts";
import { type Random, randomFrom } from "../crash/random.ts";

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
  const serverOf = (connection: Connection): Server => {
    if (!(connection instanceof Server)) throw new Error("another connection");
    if (connection.isDown) throw new Error("down");
    return connection;
  };
  const asked = (page = "page", cursorMs?: number) =>
    reads.read({
      page,
      cursor: cursorMs === undefined ? undefined : new Date(cursorMs).toISOString(),
      work: async (connection) => serverOf(connection).name,
    });
  /** How many of some pages each server answers. */
  const shares = async () => {
    const names = await Promise.all(Array.from({ length: 100 }, (_, page) => asked(`page ${page}`)));
    return Object.fromEntries([...Map.groupBy(names, (name) => name)].map(([name, pages]) => [name, pages.length]));
  };
  return { primary, standbys, reads, asked, shares, serverOf };
}

test("before the first look, the primary is asked", async () => {
  const { asked } = open();
  expect(await asked()).toBe("primary");
});

test("reads spread over all standbys that have replayed enough, and a page stays with one", async () => {
  const { primary, reads, asked, shares } = open({ replayed: [100, 99, 100] });
  await reads.look();
  expect(await shares()).toEqual({ "standby 0": expect.any(Number), "standby 2": expect.any(Number) });
  expect(Object.values(await shares()).every((pages) => pages > 30)).toBe(true);
  const first = await asked();
  for (let again = 0; again < 10; again++) expect(await asked()).toBe(first);
  primary.lsn = 101; // What was written at the look before is replayed.
  await reads.look();
  expect(await shares()).toEqual({ "standby 0": expect.any(Number), "standby 2": expect.any(Number) });
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

test("the pages of a standby that falls behind go to the others, and come back with it", async () => {
  const { primary, standbys, reads, shares } = open({ replayed: [100, 100] });
  const [late, other] = standbys;
  await reads.look();
  primary.lsn = 200;
  if (other) other.lsn = 200;
  await reads.look();
  await reads.look();
  expect(await shares()).toEqual({ "standby 1": 100 });
  if (late) late.lsn = 200;
  await reads.look();
  expect(await shares()).toEqual({ "standby 0": expect.any(Number), "standby 1": expect.any(Number) });
});

test("how long a standby has been behind grows until it has caught up", async () => {
  const { standbys, reads } = open({ replayed: [100, 99] });
  await reads.look();
  const [caughtUp = 0, behind = 0] = reads.behindSeconds();
  expect(caughtUp).toBeLessThan(behind);
  // Longer than this process may pause between a look and the figure.
  await expect.poll(() => reads.behindSeconds()[1]).toBeGreaterThan(1);
  for (const standby of standbys) standby.lsn = 100;
  await reads.look();
  expect(reads.behindSeconds()[1]).toBeLessThan(1);
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

test("what a standby does not know is asked of the primary, and that standby again once it can have replayed it", async () => {
  const { primary, standbys, reads, serverOf } = open();
  await reads.look();
  primary.lsn = 150;
  const known = async () =>
    reads.read({
      page: "a new task",
      work: async (connection) => {
        const { name, lsn } = serverOf(connection);
        if ((lsn ?? 0) < 120) throw new ApiError("not_found");
        return name;
      },
    });
  expect(await known()).toBe("primary");
  // The task is there, but not yet as the primary has shown it.
  for (const standby of standbys) standby.lsn = 130;
  expect(await known()).toBe("primary");
  for (const standby of standbys) standby.lsn = 150;
  expect(await known()).toBe("standby 0");
});

test("while the primary gives no position, no standby is asked", async () => {
  const { primary, reads, asked } = open();
  await reads.look();
  primary.isDown = true;
  await reads.look();
  await expect(asked()).rejects.toThrow("down");
});

test("a standby that does not answer holds up neither the others nor the looks", async () => {
  const { standbys, reads, shares } = open({ replayed: [100, 100] });
  const [silent] = standbys;
  if (silent) silent.query = () => new Promise(() => {});
  await reads.look();
  expect(await shares()).toEqual({ "standby 1": 100 });
});

test("a page whose cursor is newer than the replay is asked of the primary, until the standby has what was shown there", async () => {
  const { primary, standbys, reads, asked } = open();
  await reads.look();
  expect(await asked("page", START_MS - 1)).toBe("standby 0");
  const cursorMs = START_MS + SECOND_MS / 2;
  primary.lsn = 101;
  expect(await asked("page", cursorMs)).toBe("primary");
  primary.at += SECOND_MS;
  await reads.look();
  // The look before was at START_MS.
  expect(await asked("page", cursorMs)).toBe("primary");
  for (const standby of standbys) standby.lsn = 101;
  await reads.look();
  expect(await asked("page", cursorMs)).toBe("standby 0");
  expect(await asked("another page", cursorMs)).toBe("standby 0");
});

test("a read that ends after the pages have moved leaves its page on the primary until the new standby has what it showed", async () => {
  const { primary, standbys, reads } = open();
  const slow = Promise.withResolvers<void>();
  const nameOf = async (connection: Connection) => (connection instanceof Server ? connection.name : "");
  const underWay = reads.read({ page: "page", work: (connection) => slow.promise.then(() => nameOf(connection)) });
  await reads.look();
  primary.lsn = 150;
  slow.resolve();
  expect(await underWay).toBe("primary");
  expect(await reads.read({ page: "page", work: nameOf })).toBe("primary");
  expect(await reads.read({ page: "another page", work: nameOf })).toBe("standby 0");
  for (const standby of standbys) standby.lsn = 150;
  expect(await reads.read({ page: "page", work: nameOf })).toBe("standby 0");
});

test.each([1, 2, 3, 4])(
  "no answer for a page is older than one that was there before it was asked for, seed %i",
  async (seed) => {
    const { primary, standbys, reads, serverOf } = open({ replayed: [100, 100, 100] });
    const random = randomFrom(seed);
    const someTurns = async () => {
      for (let left = random.integer(0, 5); left > 0; left--) await nextTurn();
    };
    for (const server of [primary, ...standbys]) delay(server, someTurns);
    let isRunning = true;
    /** The newest position of the log that each page has shown. */
    const shown = new Map<string, number>();
    const answeredBy = new Set<string>();
    const readers = Array.from({ length: 20 }, async () => {
      while (isRunning) {
        const page = `page ${random.integer(1, 5)}`;
        const before = shown.get(page) ?? 0;
        const cursorMs = primary.at - random.integer(0, 2 * SECOND_MS);
        const [name, lsn] = await reads.read({
          page,
          cursor: random.chance(0.1) ? new Date(cursorMs).toISOString() : undefined,
          work: async (connection) => {
            await someTurns();
            const snapshot = [serverOf(connection).name, serverOf(connection).lsn ?? 0] as const;
            await someTurns();
            return snapshot;
          },
        });
        expect(lsn).toBeGreaterThanOrEqual(before);
        shown.set(page, Math.max(lsn, shown.get(page) ?? 0));
        answeredBy.add(name);
        await someTurns();
      }
    });
    const writer = (async () => {
      for (; isRunning; await nextTurn()) write(primary, standbys, random);
    })();
    for (let looks = 0; looks < 200; looks++) {
      await reads.look();
      for (let turns = 0; turns < 20; turns++) await nextTurn();
    }
    isRunning = false;
    await Promise.all([...readers, writer]);
    expect([...answeredBy].toSorted()).toEqual(["primary", "standby 0", "standby 1", "standby 2"]);
  },
);

/** Its answers take a while, before and after what they tell. */
function delay(server: Server, someTurns: () => Promise<void>): void {
  const answer = server.query.bind(server);
  server.query = async <Row extends object>(statement: Sql) => {
    await someTurns();
    const rows = await answer<Row>(statement);
    await someTurns();
    return rows;
  };
}

/** The primary writes, and each standby replays some of what it lacks, or stops or starts. */
function write(primary: Server, standbys: Server[], random: Random): void {
  const written = (primary.lsn ?? 0) + random.integer(0, 2);
  primary.lsn = written;
  primary.at += 10;
  for (const standby of standbys) {
    const replayed = standby.lsn ?? 0;
    if (random.chance(0.5)) standby.lsn = random.integer(replayed, written);
    if (random.chance(0.01)) standby.isDown = !standby.isDown;
  }
}
