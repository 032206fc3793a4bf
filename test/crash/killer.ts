/**
 * Runs Postgres, the API and the worker, and kills them at random with SIGKILL. It has its own process, so that
 * neither what it kills nor what watches depends on it. Whatever ends is started again, as a process manager would do.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { createWriteStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import pg from "pg";
import { z } from "zod";
import type { LocalPostgres } from "../../server/local/postgres/process.ts";
import { startPostgres } from "../../server/local/postgres/start.ts";
import { randomFrom } from "./random.ts";

export const targets = ["api", "worker", "postgres"] as const;

const Settings = z.object({
  directory: z.string(),
  seed: z.int(),
  /** What to kill, so many seconds after the beginning; null for one after the other, at random. */
  plan: z.array(z.object({ afterSeconds: z.number(), target: z.enum(targets) })).nullable(),
  /** For the API and the worker, without DATABASE_URL and ROLE. */
  environment: z.record(z.string(), z.string()),
});
export type KillerSettings = z.infer<typeof Settings>;

/** The parent's orders to the killer. */
export const Order = z.enum(["begin", "calm", "stop"]);
export type Order = z.infer<typeof Order>;

export const Kill = z.object({
  target: z.enum(targets),
  /** Milliseconds since the epoch, just before the signal. */
  at: z.number(),
  /** Jobs that a killed worker had begun and will never finish; null for the other targets. */
  cutJobs: z.int().nullable(),
});
export type Kill = z.infer<typeof Kill>;

/** The killer's reports to its parent. `started`: a process of the service, at each of its starts. `ended`: a process ended without having been killed, which is a bug. */
export const Report = z.discriminatedUnion("type", [
  z.object({ type: z.literal("ready"), databaseUrl: z.string() }),
  z.object({ type: z.literal("started"), name: z.enum(["api", "worker"]), pid: z.int() }),
  z.object({ type: z.literal("killed"), kill: Kill }),
  z.object({ type: z.literal("ended"), what: z.string() }),
  z.object({ type: z.literal("calm") }),
]);
export type Report = z.infer<typeof Report>;

const PAUSE_MS = { least: 1_200, most: 4_000 };
const RESTART_PAUSE_MS = 200;

function report(message: Report): void {
  process.send?.(message);
}

/** The API or the worker, started again whenever it ends. */
class Service {
  readonly name: "api" | "worker";
  readonly #environment: Record<string, string>;
  readonly #log: NodeJS.WritableStream;
  #child: ChildProcess | undefined;
  #ready = false;
  #killed = false;
  #stopping = false;
  #readyWaiters: (() => void)[] = [];

  constructor(name: "api" | "worker", settings: KillerSettings, databaseUrl: string) {
    this.name = name;
    this.#environment = { ...settings.environment, DATABASE_URL: databaseUrl, ROLE: name };
    this.#log = createWriteStream(join(settings.directory, `${name}.log`), { flags: "a" });
    this.#start();
  }

  #start(): void {
    this.#ready = false;
    this.#killed = false;
    const child = spawn(process.execPath, [join(import.meta.dirname, "../../server/start/main.ts")], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { PATH: process.env.PATH, ...this.#environment },
    });
    this.#child = child;
    if (child.pid !== undefined) report({ type: "started", name: this.name, pid: child.pid });
    child.stderr.pipe(this.#log, { end: false });
    child.stdout.pipe(this.#log, { end: false });
    child.stdout.on("data", (chunk: Buffer) => {
      if (!chunk.includes("Rebid is ready")) return;
      this.#ready = true;
      for (const resume of this.#readyWaiters.splice(0)) resume();
    });
    child.once("exit", (code, signal) => {
      // One that cannot start because the database is down is started again; one that was running must not end.
      if (this.#ready && !this.#killed && !this.#stopping) {
        report({
          type: "ended",
          what: `the ${this.name} ended without being killed (${signal ?? `exit code ${code}`})`,
        });
      }
      this.#ready = false;
      if (!this.#stopping) setTimeout(() => this.#start(), RESTART_PAUSE_MS);
    });
  }

  ready(): Promise<void> {
    return this.#ready ? Promise.resolve() : new Promise((resume) => this.#readyWaiters.push(resume));
  }

  /** Stops the process where it is; only a kill can follow. */
  halt(): void {
    this.#child?.kill("SIGSTOP");
  }

  kill(): void {
    this.#killed = true;
    this.#child?.kill("SIGKILL");
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    await ended;
  }
}

/**
 * Kills the postmaster and every backend. The postmaster is halted first, so that it starts no other backend and cleans
 * up after none while they die: a crash of the whole server in one moment.
 */
async function killPostgres(directory: string): Promise<void> {
  const pidFile = await readFile(join(directory, "postgres", "postmaster.pid"), "utf8");
  const postmaster = Number(pidFile.split("\n")[0]);
  process.kill(postmaster, "SIGSTOP");
  const { stdout } = await promisify(execFile)("pgrep", ["-P", String(postmaster)]);
  for (const pid of [...stdout.trim().split("\n").map(Number), postmaster]) {
    try {
      process.kill(pid, "SIGKILL");
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
    }
  }
}

class Killer {
  readonly #settings: KillerSettings;
  readonly #random;
  #postgres: LocalPostgres;
  readonly #services: { api: Service; worker: Service };
  #round: (typeof targets)[number][] = [];
  #killing = false;
  #loop = Promise.resolve();

  constructor(settings: KillerSettings, postgres: LocalPostgres) {
    this.#settings = settings;
    this.#random = randomFrom(settings.seed);
    this.#postgres = postgres;
    this.#services = {
      api: new Service("api", settings, postgres.url),
      worker: new Service("worker", settings, postgres.url),
    };
  }

  async ready(): Promise<void> {
    await this.#services.api.ready();
    await this.#services.worker.ready();
  }

  begin(): void {
    this.#killing = true;
    const { plan } = this.#settings;
    this.#loop = plan === null ? this.#killAtRandom() : this.#killByPlan(plan);
  }

  /** Stops killing, and resolves when everything runs. */
  async calm(): Promise<void> {
    this.#killing = false;
    await this.#loop;
    await this.ready();
  }

  async stop(): Promise<void> {
    this.#killing = false;
    await this.#loop;
    await Promise.all([this.#services.api.stop(), this.#services.worker.stop()]);
    await this.#postgres.stop();
  }

  async #killByPlan(plan: NonNullable<KillerSettings["plan"]>): Promise<void> {
    const began = Date.now();
    for (const { afterSeconds, target } of plan) {
      // In steps, so that the end of the killing need not wait for the next kill.
      while (this.#killing && Date.now() < began + afterSeconds * 1_000) await sleep(100);
      if (!this.#killing) return;
      report({ type: "killed", kill: await this.#kill(target) });
      await this.ready();
    }
  }

  async #killAtRandom(): Promise<void> {
    while (this.#killing) {
      // Usually everything is up again before the next kill, or little would be done in between; but not always.
      if (!this.#random.chance(0.25)) await this.ready();
      await sleep(this.#random.integer(PAUSE_MS.least, PAUSE_MS.most));
      // Each target once per round, in random order, so that none is left out by chance.
      if (this.#round.length === 0) this.#round = this.#random.shuffle(targets);
      const target = this.#round.pop();
      if (!this.#killing || target === undefined) return;
      report({ type: "killed", kill: await this.#kill(target) });
    }
  }

  async #kill(target: (typeof targets)[number]): Promise<Kill> {
    if (target === "postgres") {
      const at = Date.now();
      await killPostgres(this.#settings.directory);
      this.#postgres = await startPostgres({ directory: this.#settings.directory, previousUrl: this.#postgres.url });
      return { target, at, cutJobs: null };
    }
    const service = this.#services[target];
    await service.ready();
    const client = new pg.Client({ connectionString: this.#postgres.url });
    client.on("error", () => undefined);
    try {
      await client.connect();
      return await (target === "api" ? this.#killApi(service, client) : this.#killWorker(service, client));
    } finally {
      await client.end();
    }
  }

  /** Waits a moment for a commit to be under way, and lets Postgres complete what it was sent: nobody is told. */
  async #killApi(service: Service, client: pg.Client): Promise<Kill> {
    const commits = async () => {
      const sql = `SELECT count(*)::int AS count FROM pg_stat_activity
        WHERE application_name = 'rebid requests' AND state = 'active' AND query = 'COMMIT'`;
      const { rows } = await client.query<{ count: number }>(sql);
      return rows[0]?.count ?? 0;
    };
    const deadline = Date.now() + 3_000;
    while ((await commits()) === 0 && Date.now() < deadline) await sleep(1);
    const at = Date.now();
    service.halt();
    await sleep(100);
    service.kill();
    return { target: "api", at, cutJobs: null };
  }

  /** Waits a moment for a job to be under way, because most take only a few milliseconds. */
  async #killWorker(service: Service, client: pg.Client): Promise<Kill> {
    const lockedSince = async (since: Date) => {
      const sql = "SELECT count(*)::int AS count FROM graphile_worker._private_jobs WHERE locked_at > $1";
      const { rows } = await client.query<{ count: number }>(sql, [since]);
      return rows[0]?.count ?? 0;
    };
    const began = new Date();
    while ((await lockedSince(began)) === 0 && Date.now() < began.getTime() + 3_000) await sleep(1);
    const at = Date.now();
    service.kill();
    // What it had sent before its end is done by now; jobs that are still locked were cut.
    await sleep(100);
    return { target: "worker", at, cutJobs: await lockedSince(began) };
  }
}

if (import.meta.main) {
  const settings = Settings.parse(JSON.parse(process.argv[2] ?? ""));
  // The settings that users run with, full_page_writes above all: a SIGKILL can tear an 8 kB write of a page in two at
  // the kernel's 4 kB, and only the copy in the log repairs that. fsync matters less, since what a process has written
  // outlives it in the kernel's cache; it stays on because users run with it.
  const postgres = await startPostgres({ directory: settings.directory });
  const killer = new Killer(settings, postgres);
  const stop = async () => {
    await killer.stop();
    process.exit(0);
  };
  process.once("disconnect", stop);
  process.on("message", async (message) => {
    const order = Order.parse(message);
    if (order === "begin") return killer.begin();
    if (order === "stop") return stop();
    await killer.calm();
    report({ type: "calm" });
  });
  await killer.ready();
  report({ type: "ready", databaseUrl: postgres.url });
}
