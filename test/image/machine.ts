/** Images without an engine: Debian's buildah and debootstrap, as root. */
import { execFile } from "node:child_process";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";
import { type Started, startProcess } from "../install/processes.ts";

/** What an image tells the engine. */
const Config = z.object({
  User: z.string().default(""),
  Cmd: z
    .array(z.string())
    .nullish()
    .transform((words) => words ?? []),
  Env: z
    .array(z.string())
    .nullish()
    .transform((lines) => lines ?? []),
  WorkingDir: z.string().default("/"),
  Entrypoint: z.array(z.string()).nullish(),
  Healthcheck: z.object({ Test: z.array(z.string()) }).optional(),
});
export type ImageConfig = z.infer<typeof Config>;

/** A container's file system, and how its image wants it to be run. */
interface Container {
  readonly root: string;
  readonly config: ImageConfig;
}

/** As an engine does with `--read-only`: only /tmp can be written, and the image's user has no rights of root's. */
const ENTER = `
  mount --bind "$ROOT" "$ROOT"
  mount -o remount,bind,ro "$ROOT"
  mount -t proc proc "$ROOT/proc"
  mount --rbind /dev "$ROOT/dev"
  mount -t tmpfs -o size=16m tmpfs "$ROOT/tmp"
  exec chroot --userspec="$IDENTITY" "$ROOT" /usr/bin/env --chdir="$DIRECTORY" -i "$@"`;

export class Machine {
  readonly #folder: string;

  /** `folder` keeps the images, so that only the first run makes the base. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Runs buildah and returns what it prints. */
  async buildah(command: string, ...parameters: string[]): Promise<string> {
    const store = ["--root", join(this.#folder, "images"), "--runroot", join(this.#folder, "run")];
    return run("buildah", [...store, "--storage-driver", "vfs", command, ...parameters]);
  }

  /** Makes an image of Debian as debootstrap installs it, unless there is one. It stands for `debian:12-slim`. */
  async makeBase(name: string): Promise<void> {
    if (await this.#has(name)) return;
    const folder = join(this.#folder, "debian");
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
    await run("debootstrap", ["--variant=minbase", "bookworm", folder]);
    // debootstrap leaves them mounted, and an image with /proc has no end.
    for (const mounted of ["proc", "sys"]) await run("umount", [join(folder, mounted)]).catch(() => undefined);
    await run("sh", ["-c", 'rm -rf "$0"/var/cache/apt/* "$0"/var/lib/apt/lists/*', folder]);
    await this.#derive("scratch", name, [[folder, "/"]]);
    await rm(folder, { recursive: true });
  }

  /** Makes the image that packages are installed in: the base with this machine's Node, npm and certificates. */
  async makeBuildBase(base: string, name: string): Promise<void> {
    if (await this.#has(name)) return;
    const node = (await run("sh", ["-c", 'realpath "$(command -v node)"'])).trim();
    const npm = join((await run("npm", ["root", "--global"])).trim(), "npm");
    await this.#derive(base, name, [
      [node, "/usr/local/bin/node"],
      [npm, "/usr/local/lib/node_modules/npm"],
      ["/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/certs/ca-certificates.crt"],
    ]);
  }

  async #has(name: string): Promise<boolean> {
    return (await this.buildah("images", "--format", "{{.Name}}")).split("\n").includes(`localhost/${name}`);
  }

  async #derive(base: string, name: string, files: [string, string][]): Promise<void> {
    const container = (await this.buildah("from", base)).trim();
    for (const [source, target] of files) await this.buildah("add", container, source, target);
    if (base !== "scratch") {
      const link = "ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm";
      await this.buildah("run", "--isolation", "chroot", container, "--", "sh", "-c", link);
      await this.buildah("config", "--env", "NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt", container);
    }
    await this.buildah("commit", "--rm", container, name);
  }

  /** A new container of an image, mounted. `remove` takes it away. */
  async open(image: string): Promise<Container & { remove(): Promise<void> }> {
    const name = (await this.buildah("from", image)).trim();
    const root = (await this.buildah("mount", name)).trim();
    const { Docker } = JSON.parse(await this.buildah("inspect", name));
    return {
      root,
      config: Config.parse(Docker.config),
      remove: async () => {
        await this.buildah("rm", name);
      },
    };
  }
}

/** Starts the container's own command, or another one, with these variables beside the image's. */
export function startIn({ root, config }: Container, variables: NodeJS.ProcessEnv, command = config.Cmd): Started {
  return startProcess("unshare", enter(config, variables, command), {
    cwd: "/",
    env: environmentOf(root, config),
  });
}

/** Runs a command in the container to its end, and returns what it prints. Rejects unless it exits with 0. */
export function runIn({ root, config }: Container, variables: NodeJS.ProcessEnv, command: string[]): Promise<string> {
  return run("unshare", enter(config, variables, command), environmentOf(root, config));
}

function enter({ Env }: ImageConfig, variables: NodeJS.ProcessEnv, command: string[]): string[] {
  const own = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
  return ["--mount", "--propagation", "private", "sh", "-ec", ENTER, "enter", ...Env, ...own, ...command];
}

const environmentOf = (root: string, { User, WorkingDir }: ImageConfig): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH,
  ROOT: root,
  IDENTITY: User,
  DIRECTORY: WorkingDir,
});

async function run(command: string, parameters: string[], env = process.env): Promise<string> {
  try {
    return (await promisify(execFile)(command, parameters, { env, maxBuffer: 64_000_000 })).stdout;
  } catch (error) {
    if (!(error instanceof Error && "stdout" in error && "stderr" in error)) throw error;
    throw new Error(`${command} ${parameters.slice(0, 12).join(" ")} failed\n${error.stdout}${error.stderr}`);
  }
}
