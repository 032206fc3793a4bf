import { type ChildProcess, fork, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { EdgeReady } from "../crash/edge.ts";

const root = join(import.meta.dirname, "../..");
const secret = () => randomBytes(32).toString("hex");

interface Options {
  directory: string;
  databaseUrl: string;
  /** The lines of the proxy in front of the database. */
  databaseProxy: string;
  /** Where the balancer of the example configuration listens, and the two api processes behind it. */
  ports: { balancer: number; apis: readonly number[] };
}

type Role = "api" | "worker";

/** One process of the service. */
interface Member {
  role: Role;
  port: number;
  child: ChildProcess;
}

/** Two api and two worker processes, HAProxy in front of them and of the database, and the world outside. */
export class Installation {
  readonly keys = { secretKey: `sk_test_${secret()}`, webhookSecret: `whsec_${secret()}` };
  readonly #options: Options;
  readonly #children: ChildProcess[] = [];
  readonly #members = new Map<string, Member>();
  #settings: Record<string, string> = {};
  processorUrl = "";

  constructor(options: Options) {
    this.#options = options;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#options.ports.balancer}`;
  }

  get processorFile(): string {
    return join(this.#options.directory, "processor", "processor.sqlite");
  }

  async startProxies(): Promise<void> {
    const { directory, databaseProxy, ports } = this.#options;
    const file = join(directory, "database.cfg");
    await writeFile(file, `defaults\n  timeout connect 2s\n  timeout check 1s\n${databaseProxy}`);
    const [api1, api2] = ports.apis.map((port) => `127.0.0.1:${port}`);
    const addresses = { LISTEN: `127.0.0.1:${ports.balancer}`, API_1: api1, API_2: api2 };
    const start = (file: string, env: NodeJS.ProcessEnv = {}) =>
      this.#children.push(
        spawn("haproxy", ["-db", "-f", file], {
          ...{ cwd: join(root, "deploy/haproxy"), stdio: "ignore" },
          env: { ...process.env, ...env },
        }),
      );
    start(file);
    start("haproxy.cfg", addresses);
  }

  async start(): Promise<void> {
    const { directory } = this.#options;
    const store = { bucket: "rebid", region: "us-east-1", accessKeyId: "failover", secretAccessKey: secret() };
    const settings = { directory, eventsUrl: `${this.url}/processor/events`, store, ...this.keys };
    const edge = fork(join(root, "test/crash/edge.ts"), [JSON.stringify(settings)], { stdio: "inherit" });
    this.#children.push(edge);
    const [message] = await once(edge, "message");
    const { processorUrl, storeUrl } = EdgeReady.parse(message);
    this.processorUrl = processorUrl;
    this.#settings = {
      ...{
        PATH: process.env.PATH ?? "",
        DATA_DIR: join(directory, "data"),
        TRUST_PROXY: "1",
      },
      ...{ PUBLIC_URL: this.url, HOST: "127.0.0.1", SESSION_SECRET: secret() },
      ...{ STRIPE_SECRET_KEY: this.keys.secretKey, STRIPE_WEBHOOK_SECRET: this.keys.webhookSecret },
      ...{ STRIPE_API_BASE: processorUrl, S3_ENDPOINT: storeUrl, S3_BUCKET: store.bucket, S3_REGION: store.region },
      ...{ S3_ACCESS_KEY_ID: store.accessKeyId, S3_SECRET_ACCESS_KEY: store.secretAccessKey },
      ...{ ACCEPTANCE_WINDOW_SECONDS: "3", PROCESSOR_POLL_SECONDS: "2", WEBHOOK_ALLOW_INSECURE: "on" },
      ...{ WEBHOOK_RETRY_SECONDS: "1,2,4,8,16,32", RATE_LIMITS: "off", SPAM_GUARD: "off", LOG_LEVEL: "error" },
    };
    // The first one migrates.
    await this.#startMember("api1", "api", this.#options.ports.apis[0] ?? 0);
    await Promise.all([
      this.#startMember("api2", "api", this.#options.ports.apis[1] ?? 0),
      this.#startMember("worker1", "worker", 0),
      this.#startMember("worker2", "worker", 0),
    ]);
    while (
      !(await fetch(`${this.url}/tasks`).then(
        ({ ok }) => ok,
        () => false,
      ))
    )
      await sleep(100);
  }

  /** The database knows the process by its name. */
  async #startMember(name: string, role: Role, port: number): Promise<void> {
    const url = new URL(this.#options.databaseUrl);
    url.searchParams.set("application_name", name);
    const child = spawn(process.execPath, ["server/start/main.ts"], {
      cwd: root,
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...this.#settings, DATABASE_URL: url.href, ROLE: role, PORT: String(port) },
    });
    this.#members.set(name, { role, port, child });
    const ready = new Promise<void>((resolve, reject) => {
      createInterface(child.stdout).on("line", (line) => {
        if (line.startsWith("Rebid is ready")) resolve();
        // What an unexpected 500 comes from; a 503 is expected.
        if (line.includes('"internal_error"')) console.error(`${name}: ${line}`);
      });
      child.once("exit", (code) => reject(new Error(`${name} ended with ${code}`)));
    });
    await ready;
  }

  /** Kills a process, and returns what starts it again. */
  kill(name: string): () => Promise<void> {
    const member = this.#members.get(name);
    if (member === undefined) throw new Error(`there is no ${name}`);
    member.child.kill("SIGKILL");
    return () => this.#startMember(name, member.role, member.port);
  }

  async close(): Promise<void> {
    const children = [...Array.from(this.#members.values(), ({ child }) => child), ...this.#children];
    for (const child of children) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill("SIGKILL");
      await once(child, "exit");
    }
  }
}
