import { type ChildProcess, fork, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
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

export type Role = "api" | "worker";

/** One process of the service. `restart` starts it again with the same settings. */
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
  readonly #members: Member[] = [];
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
          env: { PATH: process.env.PATH, ...env },
        }),
      );
    start(file);
    start("haproxy.cfg", addresses);
  }

  async start(): Promise<void> {
    const { directory, databaseUrl } = this.#options;
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
        DATABASE_URL: databaseUrl,
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
    await this.#startMember("api", this.#options.ports.apis[0] ?? 0);
    await Promise.all([
      this.#startMember("api", this.#options.ports.apis[1] ?? 0),
      this.#startMember("worker", 0),
      this.#startMember("worker", 0),
    ]);
    while (
      !(await fetch(`${this.url}/tasks`).then(
        ({ ok }) => ok,
        () => false,
      ))
    )
      await sleep(100);
  }

  async #startMember(role: Role, port: number): Promise<void> {
    const child = spawn(process.execPath, ["server/start/main.ts"], {
      cwd: root,
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...this.#settings, ROLE: role, PORT: String(port) },
    });
    this.#members.push({ role, port, child });
    const ready = new Promise<void>((resolve, reject) => {
      child.stdout.on("data", (text: Buffer) => text.includes("Rebid is ready") && resolve());
      child.once("exit", (code) => reject(new Error(`a process of role ${role} ended with ${code}`)));
    });
    await ready;
  }

  /** Kills one process of this role, and returns what starts it again. */
  async kill(role: Role): Promise<() => Promise<void>> {
    const index = this.#members.findIndex((member) => member.role === role);
    const [member] = this.#members.splice(index, 1);
    if (member === undefined) throw new Error(`there is no ${role}`);
    if (role === "api") {
      // Suspended, it hears nothing of the commits that the database has been sent.
      member.child.kill("SIGSTOP");
      await sleep(100);
    }
    member.child.kill("SIGKILL");
    return () => this.#startMember(role, member.port);
  }

  async close(): Promise<void> {
    const children = [...this.#members.map(({ child }) => child), ...this.#children];
    for (const child of children) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill("SIGKILL");
      await once(child, "exit");
    }
  }
}
