import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { MovableClock } from "../gateways/clock.ts";
import { type Log, logFailure } from "./logFailure.ts";
import { readAheadMs, TEST_CLOCK_CHANNEL } from "./testClock.ts";

const RECONNECT_PAUSE_MS = 500;

/** How the connection of a process that follows the clock is named: what follows says how far its clock is ahead. */
export const FOLLOWER_NAME = "rebid clock ";

interface FollowOptions {
  databaseUrl: string;
  log: Log;
}

/**
 * Keeps this process' clock where the database's test clock is, until `stop`. Resolves once it is there. The connection's
 * name shows the state of this process, so whoever moves the clock can see when all processes have noticed.
 */
export async function followTestClock(
  clock: MovableClock,
  { databaseUrl, log }: FollowOptions,
): Promise<{ stop(): Promise<void> }> {
  let stopping = false;
  let client = await connect(clock, databaseUrl);
  const following = (async () => {
    while (!stopping) {
      await client.ended;
      if (stopping) return;
      await sleep(RECONNECT_PAUSE_MS);
      client = await connect(clock, databaseUrl).catch((error: unknown) => {
        logFailure(log, error, {}, "the test clock cannot be followed; trying again");
        return { ended: Promise.resolve(), end: async () => {} };
      });
      if (stopping) await client.end();
    }
  })();
  return {
    async stop() {
      stopping = true;
      await client.end();
      await following;
    },
  };
}

interface Follower {
  /** Resolves when the connection is lost or closed. */
  ended: Promise<void>;
  end(): Promise<void>;
}

async function connect(clock: MovableClock, databaseUrl: string): Promise<Follower> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: "rebid clock",
    keepAlive: true,
    keepAliveInitialDelayMillis: 4_000,
  });
  const ended = new Promise<void>((resolve) => {
    client.once("end", resolve);
    client.on("error", () => resolve()); // A lost connection may report several.
  });
  const moveTo = async (aheadMs: number) => {
    clock.moveTo(aheadMs);
    await client.query(`SET application_name = ${pg.escapeLiteral(FOLLOWER_NAME + clock.aheadMs)}`);
  };
  client.on("notification", ({ payload }) => {
    moveTo(Number(payload)).catch(() => client.end()); // and connect again
  });
  await client.connect();
  try {
    await client.query(`LISTEN ${TEST_CLOCK_CHANNEL}`);
    await moveTo(await readAheadMs(client));
  } catch (error) {
    await client.end();
    throw error;
  }
  return { ended, end: () => client.end() };
}
