import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { networkOf } from "./leftovers.ts";

const PROGRAMS = ["patroni", "etcd", "haproxy", "ip", "iptables"];

const run = promisify(execFile);

/** Machines on one network, each a network namespace, with this process outside. Needs root. */
export class Network {
  readonly #name = networkOf(Number(process.env.FAILOVER_RUN ?? process.pid));
  #subnet = "";
  readonly machines: Machine[] = [];

  /** Its address as the machines see this process. */
  get ownAddress(): string {
    return `${this.#subnet}.254`;
  }

  /** Why Patroni cannot run on such a network here, or null. */
  static async obstacle(): Promise<string | null> {
    const network = new Network();
    try {
      for (const program of PROGRAMS) await run("which", [program]);
      await network.open(2);
      const [one, other] = network.machines;
      await one?.cut();
      if (other !== undefined) await one?.withholdAnswersFrom(other);
      return null;
    } catch (error) {
      return error instanceof Error ? error.message.trim() : String(error);
    } finally {
      await network.close();
    }
  }

  async open(count: number): Promise<void> {
    this.#subnet = await findFreeSubnet();
    await run("ip", ["link", "add", this.#name, "type", "bridge"]);
    await run("ip", ["addr", "add", `${this.ownAddress}/24`, "dev", this.#name]);
    await run("ip", ["link", "set", this.#name, "up"]);
    for (let number = 1; number <= count; number++) await this.#add(number);
  }

  async #add(number: number): Promise<void> {
    const machine = new Machine(`${this.#name}n${number}`, `${this.#subnet}.${number}`);
    const cable = `${this.#name}v${number}`;
    await run("ip", ["netns", "add", machine.name]);
    this.machines.push(machine);
    await run("ip", ["link", "add", cable, "type", "veth", "peer", "name", "net0", "netns", machine.name]);
    await run("ip", ["link", "set", cable, "master", this.#name, "up"]);
    await machine.exec("ip", "addr", "add", `${machine.address}/24`, "dev", "net0");
    await machine.exec("ip", "link", "set", "net0", "up");
    await machine.exec("ip", "link", "set", "lo", "up");
  }

  async close(): Promise<void> {
    for (const machine of this.machines.splice(0)) {
      await machine.signal("SIGKILL");
      await run("ip", ["netns", "del", machine.name]);
    }
    await run("ip", ["link", "del", this.#name]).catch(() => undefined);
  }
}

/** Another run has one as well. */
async function findFreeSubnet(): Promise<string> {
  const { stdout } = await run("ip", ["-oneline", "-4", "address"]);
  const isFree = (subnet: string) => !stdout.includes(` ${subnet}.`);
  const subnet = Array.from({ length: 250 }, (_, number) => `10.213.${number}`).find(isFree);
  if (subnet === undefined) throw new Error("10.213.0.0/16 is in use");
  return subnet;
}

export class Machine {
  readonly name: string;
  readonly address: string;

  constructor(name: string, address: string) {
    this.name = name;
    this.address = address;
  }

  /** The command that runs another one on this machine. */
  get prefix(): string[] {
    return ["ip", "netns", "exec", this.name];
  }

  async exec(...command: string[]): Promise<string> {
    const [file = "", ...parameters] = [...this.prefix, ...command];
    return (await run(file, parameters)).stdout;
  }

  /** Sends a signal to everything that runs on this machine. */
  async signal(signal: "SIGKILL" | "SIGSTOP" | "SIGCONT"): Promise<void> {
    const { stdout } = await run("ip", ["netns", "pids", this.name]);
    for (const pid of stdout.split("\n").filter((line) => line !== "")) {
      try {
        process.kill(Number(pid), signal);
      } catch {
        // It has just ended.
      }
    }
  }

  /** Cuts it off without a word, as a pulled cable does. */
  async cut(): Promise<void> {
    await this.exec("iptables", "-I", "INPUT", "-i", "net0", "-j", "DROP");
    await this.exec("iptables", "-I", "OUTPUT", "-o", "net0", "-j", "DROP");
  }

  /**
   * Keeps what the programs here answer to another machine's server from arriving: data, and not the confirmations of the
   * network's own, so that the server goes on sending.
   */
  async withholdAnswersFrom({ address }: Machine): Promise<void> {
    const packets = ["-d", address, "-p", "tcp", "--dport", "5432", "--tcp-flags", "PSH", "PSH"];
    await this.exec("iptables", "-I", "OUTPUT", ...packets, "-j", "DROP");
  }

  /** Undoes all of that. */
  async reconnect(): Promise<void> {
    await this.exec("iptables", "-F");
  }
}
