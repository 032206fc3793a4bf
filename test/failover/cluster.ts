import { execFile } from "node:child_process";
import { appendFile, chown, mkdir, mkdtemp, open, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import getPort from "get-port";
import pg from "pg";

const run = promisify(execFile);
const PROGRAMS = "/usr/lib/postgresql";

/** The embedded binaries have no replication tools, and Debian's refuse their version: so all of it is Debian's. */
export async function findPrograms(): Promise<string> {
  const versions = (await readdir(PROGRAMS).catch(() => [])).sort((a, b) => Number(a) - Number(b));
  const newest = versions.at(-1);
  if (newest === undefined) throw new Error("This needs PostgreSQL with its tools: apt-get install postgresql");
  return join(PROGRAMS, newest, "bin");
}

/** Postgres refuses to run as root, who has another user for it. */
const isRoot = process.getuid?.() === 0;

export async function idOfPostgres(option: "-u" | "-g"): Promise<number> {
  return Number((await run("id", [option, "postgres"])).stdout);
}

/** A place for clusters, and the programs that work on them. */
export class Clusters {
  readonly #directory: string;
  readonly #programs: string;
  readonly #started: Cluster[] = [];

  private constructor(directory: string, programs: string) {
    this.#directory = directory;
    this.#programs = programs;
  }

  static async open(): Promise<Clusters> {
    const directory = await mkdtemp(join(tmpdir(), "rebid-failover-"));
    if (isRoot) await chown(directory, await idOfPostgres("-u"), await idOfPostgres("-g"));
    return new Clusters(directory, await findPrograms());
  }

  async close(): Promise<void> {
    for (const cluster of this.#started) await cluster.stop("immediate").catch(() => undefined);
    await rm(this.#directory, { recursive: true, force: true });
  }

  /** Runs one of PostgreSQL's programs, and returns what it printed. */
  async run(program: string, ...parameters: string[]): Promise<string> {
    const command = join(this.#programs, program);
    const [file, args] = isRoot ? ["runuser", ["-u", "postgres", "--", command, ...parameters]] : [command, parameters];
    return (await run(file, args, { cwd: this.#directory, maxBuffer: 1e8 })).stdout;
  }

  pathOf(name: string): string {
    return join(this.#directory, name);
  }

  /** A new cluster, whose log is archived. */
  async create(name: string): Promise<Cluster> {
    const archive = this.pathOf(`${name}-archive`);
    await this.run(
      "initdb",
      "--encoding=UTF8",
      "--auth=trust",
      "--username=postgres",
      "--no-sync",
      "-D",
      this.pathOf(name),
    );
    await mkdir(archive);
    if (isRoot) await chown(archive, await idOfPostgres("-u"), await idOfPostgres("-g"));
    const settings = `
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
fsync = off
dynamic_shared_memory_type = mmap
archive_mode = on
archive_command = 'cp %p "${archive}/%f"'
`;
    await appendFile(join(this.pathOf(name), "postgresql.conf"), settings);
    return this.#start(name);
  }

  /** A standby of a cluster, which follows it. */
  async createStandby(name: string, primary: Cluster): Promise<Cluster> {
    await this.copy(name, primary, "--write-recovery-conf");
    const standby = await this.#start(name);
    await standby.until("SELECT count(*) = 1 AS done FROM pg_stat_wal_receiver WHERE status = 'streaming'");
    return standby;
  }

  /** A copy of a running cluster, not started. */
  async copy(name: string, primary: Cluster, ...options: string[]): Promise<void> {
    await this.run(
      "pg_basebackup",
      "-d",
      primary.url,
      "-D",
      this.pathOf(name),
      "--checkpoint=fast",
      "--no-sync",
      ...options,
    );
  }

  /** Starts a copy that replays the archive of a cluster to a point, such as `recovery_target_name = 'here'`. */
  async restore(name: string, archiveOf: string, target: string): Promise<Cluster> {
    const settings = `
restore_command = 'cp "${this.pathOf(`${archiveOf}-archive`)}/%f" "%p"'
${target}
recovery_target_action = 'promote'
archive_mode = off
`;
    await appendFile(join(this.pathOf(name), "postgresql.conf"), settings);
    await writeFile(join(this.pathOf(name), "recovery.signal"), "", { mode: 0o644 });
    const cluster = await this.#start(name);
    await cluster.until("SELECT NOT pg_is_in_recovery() AS done");
    return cluster;
  }

  async #start(name: string): Promise<Cluster> {
    const port = await getPort();
    const directory = this.pathOf(name);
    await this.run("pg_ctl", "start", "-w", "-D", directory, "-o", `-p ${port}`, "-l", `${directory}.log`);
    const cluster = new Cluster(this, directory, port);
    this.#started.push(cluster);
    return cluster;
  }
}

export class Cluster {
  readonly #clusters: Clusters;
  readonly #directory: string;
  readonly port: number;

  constructor(clusters: Clusters, directory: string, port: number) {
    this.#clusters = clusters;
    this.#directory = directory;
    this.port = port;
  }

  get url(): string {
    return `postgresql://postgres@127.0.0.1:${this.port}/postgres`;
  }

  async query(statement: string): Promise<Record<string, unknown>[]> {
    const client = new pg.Client({ connectionString: this.url });
    client.on("error", () => undefined);
    await client.connect();
    try {
      return (await client.query(statement)).rows;
    } finally {
      await client.end();
    }
  }

  /** Waits until the statement, which returns `done`, says so. */
  async until(statement: string): Promise<void> {
    for (let attempt = 0; attempt < 600; attempt++) {
      if ((await this.query(statement))[0]?.done === true) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(`still not so: ${statement}`);
  }

  async set(name: string, value: string): Promise<void> {
    await this.query(`ALTER SYSTEM SET ${name} = '${value}'`);
    await this.query("SELECT pg_reload_conf()");
    await this.until(`SELECT current_setting('${name}') = '${value}' AS done`);
  }

  /** `fast` is orderly, and waits for the standby; `immediate` is a crash. */
  async stop(mode: "fast" | "immediate"): Promise<void> {
    await this.#clusters.run("pg_ctl", "stop", "-w", "-D", this.#directory, "-m", mode);
  }

  async promote(): Promise<void> {
    await this.#clusters.run("pg_ctl", "promote", "-w", "-D", this.#directory);
  }

  async logBytes(): Promise<number> {
    return (await stat(`${this.#directory}.log`)).size;
  }

  /** What it has written into its log behind so many bytes, such as its statements with `log_statement = all`. */
  async logBehind(bytes: number): Promise<string> {
    const file = await open(`${this.#directory}.log`);
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc((await file.stat()).size - bytes), {
        position: bytes,
      });
      return buffer.toString("utf8", 0, bytesRead);
    } finally {
      await file.close();
    }
  }

  async timeline(): Promise<number> {
    const [row] = await this.query("SELECT timeline_id FROM pg_control_checkpoint()");
    return Number(row?.timeline_id);
  }
}
