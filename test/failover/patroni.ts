import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, chown, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { findPrograms, idOfPostgres } from "./cluster.ts";
import type { Machine, Network } from "./network.ts";

const PASSWORD = "of the tests only";
const START_LIMIT_MS = 120_000;

const Status = z.object({
  members: z.array(z.object({ name: z.string(), role: z.string(), state: z.string(), lag: z.unknown().optional() })),
});

/** Three PostgreSQL servers under Patroni, each on a machine of its own, with one synchronous standby; etcd is outside. */
export class PatroniCluster {
  readonly #network: Network;
  readonly #directory: string;
  readonly #etcdPort: number;
  #programs = "";
  #etcd: ChildProcess | null = null;

  constructor(network: Network, { directory, etcdPort }: { directory: string; etcdPort: number }) {
    this.#network = network;
    this.#directory = directory;
    this.#etcdPort = etcdPort;
  }

  async open(): Promise<void> {
    this.#programs = await findPrograms();
    const client = `http://${this.#network.ownAddress}:${this.#etcdPort}`;
    const peer = `http://127.0.0.1:${this.#etcdPort + 1}`;
    const settings = {
      "data-dir": join(this.#directory, "etcd"),
      "listen-client-urls": client,
      "advertise-client-urls": client,
      "listen-peer-urls": peer,
      "initial-advertise-peer-urls": peer,
      "initial-cluster": `default=${peer}`,
      "log-level": "error",
      logger: "zap",
    };
    const parameters = Object.entries(settings).map(([name, value]) => `--${name}=${value}`);
    this.#etcd = spawn("etcd", parameters, { stdio: ["ignore", "ignore", "inherit"], env: { PATH: process.env.PATH } });
    for (const machine of this.#network.machines) {
      await this.#prepare(machine);
      await this.start(machine);
    }
    await this.untilComplete();
  }

  /** Starts Patroni on a machine, which starts the server there. */
  async start(machine: Machine): Promise<void> {
    const [file = "", ...parameters] = [...machine.prefix, "setsid", "runuser", "-u", "postgres", "--", "patroni"];
    // Without PGPASSWORD, which would win against Patroni's own.
    spawn(file, [...parameters, this.#fileOf(machine, "yml")], {
      cwd: this.#directory,
      env: { PATH: process.env.PATH, HOME: this.#directory },
      stdio: "ignore",
      detached: true,
    }).unref();
  }

  #fileOf = ({ name }: Machine, ending: string) => join(this.#directory, `${name}.${ending}`);

  async #prepare(machine: Machine): Promise<void> {
    const [uid, gid] = [await idOfPostgres("-u"), await idOfPostgres("-g")];
    const data = this.#fileOf(machine, "data");
    await mkdir(data, { mode: 0o700 });
    await chown(data, uid, gid);
    const account = (username: string) => ({ username, password: PASSWORD });
    // JSON is YAML.
    const settings = {
      scope: "rebid",
      name: machine.name,
      log: { dir: this.#directory, level: "INFO" },
      restapi: { listen: `${machine.address}:8008`, connect_address: `${machine.address}:8008` },
      etcd3: { host: `${this.#network.ownAddress}:${this.#etcdPort}` },
      bootstrap: {
        dcs: {
          ...{ ttl: 10, loop_wait: 2, retry_timeout: 3, synchronous_mode: true, maximum_lag_on_failover: 1_048_576 },
          postgresql: { use_pg_rewind: true, parameters: { max_connections: 150, wal_log_hints: "on" } },
        },
        initdb: [{ "auth-host": "scram-sha-256" }, { "auth-local": "trust" }, { encoding: "UTF8" }, "data-checksums"],
      },
      postgresql: {
        ...{ listen: `${machine.address}:5432`, connect_address: `${machine.address}:5432` },
        ...{ data_dir: data, bin_dir: this.#programs, pgpass: this.#fileOf(machine, "pgpass") },
        authentication: {
          superuser: account("postgres"),
          replication: account("replicator"),
          rewind: account("rewinder"),
        },
        pg_hba: ["local all all trust", "host all all all scram-sha-256", "host replication all all scram-sha-256"],
        parameters: { unix_socket_directories: "", fsync: "off" },
      },
    };
    const file = this.#fileOf(machine, "yml");
    await writeFile(file, JSON.stringify(settings));
    await chown(file, uid, gid);
    await chmod(file, 0o600);
  }

  /** The lines of a HAProxy configuration that leads `port` to the primary. */
  proxy(port: number): string {
    const servers = this.#network.machines.map(
      ({ name, address }) =>
        `  server ${name} ${address}:5432 check port 8008 inter 1s fall 2 on-marked-down shutdown-sessions`,
    );
    return ["listen database", "  mode tcp", `  bind 127.0.0.1:${port}`, "  timeout client 1h", "  timeout server 1h"]
      .concat(["  option httpchk OPTIONS /primary", "  http-check expect status 200", ...servers, ""])
      .join("\n");
  }

  url = (port: number) => `postgresql://postgres:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/postgres`;

  /** The members as one that can be reached sees them; none while none answers. */
  async #members(): Promise<z.infer<typeof Status>["members"]> {
    for (const { address } of this.#network.machines) {
      const answer = await fetch(`http://${address}:8008/cluster`, { signal: AbortSignal.timeout(1_000) }).catch(
        () => null,
      );
      if (answer?.ok) return Status.parse(await answer.json()).members;
    }
    return [];
  }

  /** Waits until there are a primary, a synchronous standby and another one, and all of them run. */
  async untilComplete(): Promise<void> {
    const roles = async () =>
      (await this.#members())
        .filter(({ state }) => ["running", "streaming"].includes(state))
        .map(({ role }) => role)
        .sort();
    const expected = ["leader", "replica", "sync_standby"].join();
    for (const deadline = Date.now() + START_LIMIT_MS; (await roles()).join() !== expected; await sleep(250)) {
      if (Date.now() > deadline)
        throw new Error(`the cluster is not complete: ${JSON.stringify(await this.#members())}`);
    }
  }

  async primary(): Promise<Machine> {
    const name = (await this.#members()).find(({ role }) => role === "leader")?.name;
    const machine = this.#network.machines.find((each) => each.name === name);
    if (machine === undefined) throw new Error("there is no primary");
    return machine;
  }

  /** Orders a planned switch to the synchronous standby. Resolves when it is done. */
  async switchOver(): Promise<void> {
    const leader = await this.primary();
    const candidate = (await this.#members()).find(({ role }) => role === "sync_standby")?.name;
    const body = JSON.stringify({ leader: leader.name, candidate });
    const answer = await fetch(`http://${leader.address}:8008/switchover`, { method: "POST", body });
    if (!answer.ok) throw new Error(`the switch was refused: ${await answer.text()}`);
  }

  async close(): Promise<void> {
    if (this.#etcd === null || this.#etcd.exitCode !== null) return;
    this.#etcd.kill("SIGKILL");
    await once(this.#etcd, "exit");
  }
}
