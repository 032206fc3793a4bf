import { spawn } from "node:child_process";
import { once } from "node:events";
import { chown, mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** As systemd's own path, with what an operator installs. */
export const SERVER_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const NOBODY = 65534;

interface Running {
  stop(): Promise<void>;
  output(): string;
}

/**
 * Stands for systemd on a server under `root`: starts and stops services as their units say, with their user and settings, but
 * without a sandbox.
 */
export class Units {
  readonly #root: string;
  readonly #running = new Map<string, Running>();

  constructor(root: string) {
    this.#root = root;
  }

  /** What `systemctl` does with these parameters. Rejects when a unit does not exist, or ends badly. */
  async systemctl(parameters: readonly string[]): Promise<void> {
    const [verb = "", ...rest] = parameters;
    const names = rest.filter((word) => !word.startsWith("--"));
    if (verb === "daemon-reload") return;
    if (verb !== "restart" && !(verb === "enable" && rest.includes("--now"))) throw new Error(`systemctl ${verb}?`);
    for (const name of names) {
      if (verb === "restart") await this.#running.get(name)?.stop();
      this.#running.set(name, await this.#start(name));
    }
  }

  /** What a unit has printed since its last start. */
  log(name: string): string {
    return this.#running.get(name)?.output() ?? "";
  }

  async stop(): Promise<void> {
    for (const each of this.#running.values()) await each.stop();
  }

  async #start(name: string): Promise<Running> {
    const unit = await this.#read(name);
    const words = (key: string) => unit.filter(([found]) => found === key).flatMap(([, value]) => wordsOf(value));
    const one = (key: string) => words(key)[0];
    for (const folder of words("CacheDirectory")) {
      const path = join(this.#root, "var/cache", folder);
      await mkdir(path, { recursive: true });
      await chown(path, NOBODY, NOBODY);
    }
    const user = one("User") ?? (one("DynamicUser") === "yes" ? "nobody" : "root");
    const identity = [`--reuid=${user}`, `--regid=${one("Group") ?? "nogroup"}`, "--clear-groups"];
    const place = ["env", `--chdir=${one("WorkingDirectory") ?? "/"}`];
    const files = await Promise.all(words("EnvironmentFile").map((file) => this.#readSettings(file)));
    const env = Object.fromEntries([...words("Environment"), ...files.flat()].map(assignmentOf));
    const command = [this.#root, "setpriv", ...identity, ...place, ...words("ExecStart")];
    const child = spawn("chroot", command, {
      env: { PATH: SERVER_PATH, HOME: `/var/lib/${user}`, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
    const ended = once(child, "close");
    return {
      output: () => output,
      async stop() {
        child.kill("SIGTERM");
        const limit = setTimeout(() => child.kill("SIGKILL"), Number.parseInt(one("TimeoutStopSec") ?? "", 10) * 1_000);
        const [code, signal] = await ended;
        clearTimeout(limit);
        if (code !== 0) throw new Error(`${name} ended with ${code ?? signal}\n${output}`);
      },
    };
  }

  /** The assignments of a unit and of what is dropped in, with `%i` replaced. */
  async #read(name: string): Promise<[string, string][]> {
    const [, template = name, instance = ""] = /^(.+@)(.+)$/.exec(name) ?? [];
    const [own, packaged] = ["etc/systemd/system", "lib/systemd/system"].map((folder) =>
      join(this.#root, folder, `${template}.service`),
    );
    const text = await readFile(own ?? "", "utf8").catch(() => readFile(packaged ?? "", "utf8"));
    const added = await readdir(`${own}.d`).catch(() => []);
    const texts = [text, ...(await Promise.all(added.map((file) => readFile(join(`${own}.d`, file), "utf8"))))];
    return texts
      .flatMap((each) => [...each.matchAll(/^(\w+)=(.*)$/gm)])
      .map(([, key = "", value = ""]) => [key, value.replaceAll("%i", instance)]);
  }

  async #readSettings(file: string): Promise<string[]> {
    const text = await readFile(join(this.#root, file.replace(/^-/, "")), "utf8").catch((error: unknown) => {
      if (file.startsWith("-")) return "";
      throw error;
    });
    return text.split("\n").filter((line) => /^\w+=/.test(line));
  }
}

/** Words of a value: quotes hold one together. */
function wordsOf(value: string): string[] {
  return [...value.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain = ""]) => quoted ?? plain);
}

function assignmentOf(text: string): [string, string] {
  const [, name = "", value = ""] = /^(\w+)=(.*)$/s.exec(text) ?? [];
  return [name, value.replace(/^(['"])(.*)\1$/s, "$2")];
}
