import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Client } from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { LocalPostgres } from "../../server/local/postgres/process.ts";
import { keepPostgresRunning, type PostgresOptions, startPostgres } from "../../server/local/postgres/start.ts";

const repository = fileURLToPath(new URL("../..", import.meta.url));
const isRoot = process.getuid?.() === 0;
const processes: ChildProcess[] = [];
const servers: LocalPostgres[] = [];
/** mkdtemp creates it with mode 700: if root runs the tests, no other user can enter it. */
let root: string;
/** A stopped cluster to copy, because creating one takes a second. */
let template: string;
let templateUrl: string;
let directory: string;
let directoryCount = 0;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), "rebid-postgres-"));
  template = join(root, "template");
  const server = await startPostgres({ directory: template, durable: false });
  templateUrl = server.url;
  await query(server.url, "CREATE TABLE kept (word text); INSERT INTO kept VALUES ('kept')");
  await server.stop();
});

beforeEach(() => {
  directory = join(root, String(++directoryCount));
});

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
  await Promise.all(processes.splice(0).map(kill));
});

afterAll(() => rmSync(root, { recursive: true, force: true }));

function copyTemplate(): void {
  execFileSync("cp", ["-a", template, directory]);
}

async function start(options: Partial<PostgresOptions> = {}): Promise<LocalPostgres> {
  const server = await startPostgres({ directory, durable: false, ...options });
  servers.push(server);
  return server;
}

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  client.on("error", () => {}); // If the server is killed, the query fails as well.
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Starts a real process that starts Postgres in the directory and then runs a script with `postgres` and `query`. */
function startProcess(script: string, options: { previousUrl?: string; path?: string; detached?: boolean } = {}) {
  const code = `
    import { startPostgres } from ${JSON.stringify(join(repository, "server/local/postgres/start.ts"))};
    import pg from ${JSON.stringify(import.meta.resolve("pg"))};
    const query = async (sql) => {
      const client = new pg.Client({ connectionString: postgres.url });
      await client.connect();
      const { rows } = await client.query(sql);
      await client.end();
      return rows;
    };
    const [, directory, previousUrl] = process.argv;
    const postgres = await startPostgres({ directory, previousUrl, durable: false }).catch((error) => {
      console.log(error.message);
      process.exit(1);
    });
    console.log(postgres.url);
    ${script}`;
  const child = spawn(
    process.execPath,
    ["--input-type=module", "-e", code, directory, ...(options.previousUrl ? [options.previousUrl] : [])],
    {
      stdio: ["pipe", "pipe", "inherit"],
      detached: options.detached ?? false,
      env: { ...process.env, PATH: options.path ?? process.env.PATH },
    },
  );
  processes.push(child);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return { child, nextLine: async (): Promise<string> => (await lines.next()).value ?? "(ended)" };
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, "exit");
  child.kill("SIGKILL");
  await exit;
}

function postmasterPid(): number {
  return Number.parseInt(readFileSync(join(directory, "postgres", "postmaster.pid"), "utf8"), 10);
}

/** Whether a process is running. A zombie counts as ended. */
function isAlive(pid: number): boolean {
  const { stdout } = spawnSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" });
  return stdout.trim() !== "" && !stdout.startsWith("Z");
}

test("it listens only on loopback, requires its password, uses UTC, and survives a crash of the machine", async () => {
  copyTemplate();
  const { url } = await start({ previousUrl: templateUrl, durable: true });
  expect(
    await query(
      url,
      `SELECT current_setting('listen_addresses') AS addresses, current_setting('unix_socket_directories') AS sockets,
              current_setting('TimeZone') AS zone, current_setting('fsync') AS fsync,
              current_setting('synchronous_commit') AS "commit", current_setting('max_connections') AS connections`,
    ),
  ).toEqual([{ addresses: "127.0.0.1", sockets: "", zone: "UTC", fsync: "on", commit: "on", connections: "200" }]);
  const wrongPassword = new URL(url);
  wrongPassword.password = "wrong";
  await expect(query(wrongPassword.href, "SELECT 1")).rejects.toMatchObject({ code: "28P01" });
  expect(statSync(join(directory, "postgres")).mode & 0o777).toBe(0o700);
  expect(statSync(join(directory, "postgres")).uid).toBe(process.getuid?.());
});

test("the extensions that the search needs are available, and text has the same order on every machine", async () => {
  copyTemplate();
  const { url } = await start({ previousUrl: templateUrl });
  await query(url, "CREATE EXTENSION pg_trgm; CREATE EXTENSION citext");
  expect(await query(url, "SELECT lower('ÄÖ') AS lower, 'a' > 'B' AS by_code_point")).toEqual([
    { lower: "äö", by_code_point: true },
  ]);
});

test("data, port and password survive a restart", async () => {
  copyTemplate();
  const before = await start({ previousUrl: templateUrl });
  await query(before.url, "INSERT INTO kept VALUES ('later')");
  await before.stop();
  await before.stop();
  const after = await start({ previousUrl: before.url });
  expect(after.url).toBe(before.url);
  expect(await query(after.url, "SELECT word FROM kept")).toEqual([{ word: "kept" }, { word: "later" }]);
});

test("a previous port that is in use is replaced by another one", async () => {
  copyTemplate();
  const other = createServer().listen(Number(new URL(templateUrl).port), "127.0.0.1");
  await once(other, "listening");
  const { url } = await start({ previousUrl: templateUrl });
  expect(new URL(url).port).not.toBe(new URL(templateUrl).port);
  expect(await query(url, "SELECT word FROM kept")).toEqual([{ word: "kept" }]);
  other.close();
});

test("a lost password does not lose data", async () => {
  copyTemplate();
  const { url } = await start();
  expect(new URL(url).password).not.toBe(new URL(templateUrl).password);
  expect(await query(url, "SELECT word FROM kept")).toEqual([{ word: "kept" }]);
});

test("the Postgres of a killed owner is stopped, and everything it had committed is kept", async () => {
  copyTemplate();
  const { child, nextLine } = startProcess(
    `await query("INSERT INTO kept VALUES ('committed')");
     const open = new pg.Client({ connectionString: postgres.url });
     await open.connect();
     await open.query("BEGIN; INSERT INTO kept VALUES ('open')");
     console.log("inserted");`,
    { previousUrl: templateUrl },
  );
  const orphanUrl = await nextLine();
  expect(await nextLine()).toBe("inserted");
  const orphan = postmasterPid();
  await kill(child);
  expect(isAlive(orphan)).toBe(true);

  const { url } = await start({ previousUrl: orphanUrl });
  expect(isAlive(orphan)).toBe(false);
  expect(url).toBe(orphanUrl);
  expect(await query(url, "SELECT word FROM kept")).toEqual([{ word: "kept" }, { word: "committed" }]);
});

test("a crash of Postgres with all its backends does not lose committed data", async () => {
  copyTemplate();
  const messages: string[] = [];
  const before = await start({ previousUrl: templateUrl, log: (message) => messages.push(message) });
  const client = new Client({ connectionString: before.url });
  client.on("error", () => {});
  await client.connect();
  await client.query("INSERT INTO kept VALUES ('before the crash')");
  const { rows } = await client.query<{ pid: number }>("SELECT pid FROM pg_stat_activity");
  for (const pid of [postmasterPid(), ...rows.map((row) => row.pid)]) process.kill(pid, "SIGKILL");
  await expect.poll(() => messages.join()).toContain("Postgres has stopped unexpectedly (SIGKILL)");
  const after = await start({ previousUrl: before.url });
  expect(await query(after.url, "SELECT word FROM kept")).toEqual([{ word: "kept" }, { word: "before the crash" }]);
});

test("a crash of the postmaster alone does not leave two servers on the same data", async () => {
  copyTemplate();
  const before = await start({ previousUrl: templateUrl });
  const busy = query(before.url, "SELECT pg_sleep(4)").catch(() => "cut off");
  await vi.waitUntil(
    async () => (await query(before.url, "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'")).length > 0,
    { timeout: 60_000 },
  );
  process.kill(postmasterPid(), "SIGKILL");
  const after = await start({ previousUrl: before.url });
  expect(await query(after.url, "SELECT word FROM kept")).toEqual([{ word: "kept" }]);
  expect(await busy).toBe("cut off");
});

test("a pid file whose pid now belongs to another process neither blocks the start nor harms that process", async () => {
  copyTemplate();
  const innocent = spawn("sleep", ["60"], { stdio: "ignore" });
  processes.push(innocent);
  const began = Math.floor(Date.now() / 1000);
  writeFileSync(
    join(directory, "postgres", "postmaster.pid"),
    `${innocent.pid}\n${join(directory, "postgres")}\n${began}\n5432\n\n127.0.0.1\n  1234567         9\nready   \n`,
  );
  const { url } = await start({ previousUrl: templateUrl });
  expect(await query(url, "SELECT word FROM kept")).toEqual([{ word: "kept" }]);
  expect(innocent.exitCode ?? innocent.signalCode).toBeNull();
});

test("a first start that was killed halfway is started over", async () => {
  const { child } = startProcess("");
  await vi.waitUntil(
    () => statSync(directory, { throwIfNoEntry: false }) && readdirSync(directory).some(isUnfinished),
    {
      timeout: 60_000,
      interval: 10,
    },
  );
  await kill(child);
  const { url } = await start();
  expect(await query(url, "SELECT current_database() AS name")).toEqual([{ name: "rebid" }]);
});

function isUnfinished(name: string): boolean {
  return name.startsWith("postgres.new-") && readdirSync(join(directory, name)).includes("PG_VERSION");
}

test("a process that ends without stopping Postgres does not leave it running", async () => {
  copyTemplate();
  const { nextLine } = startProcess("console.log(query.name); process.stdin.on('data', () => process.exit(0));", {
    previousUrl: templateUrl,
  });
  await nextLine();
  await nextLine();
  const pid = postmasterPid();
  expect(isAlive(pid)).toBe(true);
  processes.at(-1)?.stdin?.write("exit\n");
  await expect.poll(() => isAlive(pid)).toBe(false);
});

test("Ctrl-C in the terminal does not reach Postgres before the ordered shutdown does", async () => {
  copyTemplate();
  const { child, nextLine } = startProcess(
    `process.once("SIGINT", async () => {
       console.log(JSON.stringify(await query("SELECT word FROM kept")));
       await postgres.stop();
       process.exit(0);
     });
     console.log("waiting");
     setInterval(() => {}, 60_000);`,
    { previousUrl: templateUrl, detached: true },
  );
  await nextLine();
  expect(await nextLine()).toBe("waiting");
  process.kill(-Number(child.pid), "SIGINT"); // Like a terminal: to the whole process group.
  expect(await nextLine()).toBe('[{"word":"kept"}]');
  if (child.exitCode === null) await once(child, "exit");
  expect(child.exitCode).toBe(0);
});

test("a failed start reports Postgres' own message and leaves nothing running", async () => {
  copyTemplate();
  writeFileSync(join(directory, "postgres", "PG_VERSION"), "17\n");
  await expect(start({ previousUrl: templateUrl })).rejects.toThrow(
    /Postgres did not start.*initialized by PostgreSQL version 17.*postgres\.log/s,
  );
});

test("shutdown does not wait for connected clients", async () => {
  copyTemplate();
  const server = await start({ previousUrl: templateUrl });
  const sleeping = query(server.url, "SELECT pg_sleep(60)").catch((error: Error) => error.message);
  await vi.waitUntil(
    async () => (await query(server.url, "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'")).length > 0,
    { timeout: 60_000 },
  );
  await server.stop();
  expect(await sleeping).toContain("terminating connection");
});

/** A PATH that makes user namespaces look disabled. */
function pathWithoutNamespaces(): string {
  const commands = join(root, "commands");
  mkdirSync(commands, { recursive: true });
  writeFileSync(join(commands, "unshare"), "#!/bin/sh\nexit 1\n", { mode: 0o755 });
  return [commands, process.env.PATH].join(delimiter);
}

test.runIf(isRoot)(
  "root without user namespaces, where no other user may enter: the message says what to do",
  async () => {
    const { nextLine } = startProcess("", { path: pathWithoutNamespaces() });
    expect(await nextLine()).toContain("Start as an ordinary user, or set DATA_DIR");
    expect(statSync(directory).mode & 0o777).toBe(0o700);
  },
);

const nobodyMayRead =
  isRoot && spawnSync("/bin/sh", ["-c", `cd '${repository}'`], { uid: 65534, gid: 65534, cwd: "/" }).status === 0;

test.runIf(nobodyMayRead)("root without user namespaces: Postgres runs as an unprivileged user, and back", async () => {
  const open = mkdtempSync(join(tmpdir(), "rebid-postgres-"));
  chmodSync(open, 0o755);
  try {
    directory = join(open, "data");
    copyTemplate();
    const { child, nextLine } = startProcess("setInterval(() => {}, 60_000);", {
      previousUrl: templateUrl,
      path: pathWithoutNamespaces(),
    });
    const url = await nextLine();
    expect(await query(url, "SELECT word FROM kept")).toEqual([{ word: "kept" }]);
    expect(statSync(`/proc/${postmasterPid()}`).uid).toBe(65534);
    await kill(child);
    const { url: nextUrl } = await start({ previousUrl: url });
    expect(await query(nextUrl, "SELECT word FROM kept")).toEqual([{ word: "kept" }]);
    expect(statSync(join(directory, "postgres", "PG_VERSION")).uid).toBe(0);
  } finally {
    await Promise.all(servers.splice(0).map((server) => server.stop()));
    rmSync(open, { recursive: true, force: true });
  }
});

describe("a server that is kept running", () => {
  test("restarts with the same URL and all committed data when it is killed", async () => {
    copyTemplate();
    const kept = await keepPostgresRunning({ directory, durable: false, previousUrl: templateUrl });
    try {
      for (let round = 0; round < 2; round++) {
        await query(kept.url, `INSERT INTO kept VALUES ('round ${round}')`);
        const killed = postmasterPid();
        process.kill(killed, "SIGKILL");
        await vi.waitFor(async () => expect(await query(kept.url, "SELECT word FROM kept")).toHaveLength(2 + round), {
          timeout: 60_000,
          interval: 100,
        });
        expect(postmasterPid()).not.toBe(killed);
      }
    } finally {
      await kept.stop();
    }
    await expect(query(kept.url, "SELECT 1")).rejects.toThrow();
  });

  test("that is stopped during its restart stays stopped", async () => {
    copyTemplate();
    const kept = await keepPostgresRunning({ directory, durable: false, previousUrl: templateUrl });
    process.kill(postmasterPid(), "SIGKILL");
    await vi.waitFor(async () => expect(query(kept.url, "SELECT 1")).rejects.toThrow(), { timeout: 60_000 });
    await kept.stop();
    await expect(query(kept.url, "SELECT 1")).rejects.toThrow();
  });
});
