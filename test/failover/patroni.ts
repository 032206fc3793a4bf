import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, chown, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import getPort from "get-port";
import pg from "pg";
import { z } from "zod";
import { findPrograms, idOfPostgres } from "./cluster.ts";
import type { Machine, Network } from "./network.ts";

const PASSWORD = "of the tests only";
/** It only ends what hangs. */
const START_LIMIT_MS = 300_000;

const Status = z.object({
  members: z.array(z.object({ name: z.string(), role: z.string(), state: z.string(), lag: z.unknown().optional() })),
});

const urlOf = (host: string, port: number) =>
  `postgresql://postgres:${encodeURIComponent(PASSWORD)}@${host}:${port}/postgres`;

/** Three PostgreSQL servers under Patroni, each on a machine of its own, with one synchronous standby; etcd is outside. */
export class PatroniCluster {
  readonly #network: Network;
  readonly #directory: string;
  #etcdPort = 0;
  #programs = "";
  #etcd: ChildProcess | null = null;

  constructor(network: Network, directory: string) {
    this.#network = network;
    this.#directory = directory;
  }

  async open(): Promise<void> {
    this.#programs = await findPrograms();
    this.#etcdPort = await getPort();
    const client = `http://${this.#network.ownAddress}:${this.#etcdPort}`;
    const peer = `http://127.0.0.1:${await getPort()}`;
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
        // Files in the data directory, because a server that is killed leaves other shared memory behind.
        parameters: { unix_socket_directories: "", fsync: "off", dynamic_shared_memory_type: "mmap" },
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
        `  server ${name} ${address}:5432 check port 8008 inter 1s downinter 250ms fall 2 rise 1 on-marked-down shutdown-sessions`,
    );
    return ["listen database", "  mode tcp", `  bind 127.0.0.1:${port}`, "  timeout client 1h", "  timeout server 1h"]
      .concat(["  option httpchk OPTIONS /primary", "  http-check expect status 200", ...servers, ""])
      .join("\n");
  }

  /** Of the proxy. */
  url = (port: number) => urlOf("127.0.0.1", port);

  /** The members as one that can be reached sees them; none while none answers. */
  async #members(): Promise<z.infer<typeof Status>["members"]> {
    for (const { address } of this.#network.machines) {
      try {
        const answer = await fetch(`http://${address}:8008/cluster`, { signal: AbortSignal.timeout(1_000) });
        if (answer.ok) return Status.parse(await answer.json()).members;
      } catch {
        // It is dead, suspended, cut off or busy.
      }
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

  /** The primary and its synchronous standby. */
  async pair(): Promise<{ primary: Machine; standby: Machine }> {
    const members = await this.#members();
    const machineOf = (role: string) => {
      const name = members.find((member) => member.role === role)?.name;
      const machine = this.#network.machines.find((each) => each.name === name);
      if (machine === undefined) throw new Error(`there is no ${role}`);
      return machine;
    };
    return { primary: machineOf("leader"), standby: machineOf("sync_standby") };
  }

  /** A connection to the server of one machine, which may end at any time. */
  async connect({ address }: Machine): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: urlOf(address, 5432) });
    client.on("error", () => undefined);
    await client.connect();
    return client;
  }

  /** Orders a planned switch to the synchronous standby. Resolves when it is done. */
  async switchOver(): Promise<void> {
    const { primary, standby } = await this.pair();
    const body = JSON.stringify({ leader: primary.name, candidate: standby.name });
    const answer = await fetch(`http://${primary.address}:8008/switchover`, { method: "POST", body });
    if (!answer.ok) throw new Error(`the switch was refused: ${await answer.text()}`);
  }

  async close(): Promise<void> {
    if (this.#etcd === null || this.#etcd.exitCode !== null) return;
    this.#etcd.kill("SIGKILL");
    await once(this.#etcd, "exit");
  }
}
