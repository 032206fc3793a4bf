import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Machines on one network, each a network namespace, with this process outside. Needs root. */
export class Network {
  readonly #name = `rb${process.pid}`;
  readonly #subnet = `10.213.${process.pid % 250}`;
  readonly machines: Machine[] = [];

  /** Its address as the machines see this process. */
  get ownAddress(): string {
    return `${this.#subnet}.254`;
  }

  /** Why no namespaces can be made here, or null. */
  static async obstacle(): Promise<string | null> {
    const name = `rb${process.pid}try`;
    try {
      await run("ip", ["netns", "add", name]);
      await run("ip", ["netns", "exec", name, "iptables", "-L", "-n"]);
      return null;
    } catch (error) {
      return error instanceof Error ? error.message.trim() : String(error);
    } finally {
      await run("ip", ["netns", "del", name]).catch(() => undefined);
    }
  }

  async open(count: number): Promise<void> {
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
    for (const machine of this.machines) {
      await machine.signal("SIGKILL");
      await run("ip", ["netns", "del", machine.name]);
    }
    await run("ip", ["link", "del", this.#name]).catch(() => undefined);
  }
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

  async reconnect(): Promise<void> {
    await this.exec("iptables", "-F");
  }
}
