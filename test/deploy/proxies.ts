import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { vi } from "vitest";
import { unusedPort } from "../setup/unusedPort.ts";

const deploy = join(import.meta.dirname, "../../deploy");

/** A proxy that runs with a configuration of `deploy/`. */
export interface RunningProxy {
  /** `https://localhost:<port>`. */
  readonly url: string;
  /** Who signed its certificate. */
  readonly authority: string;
  stop(): Promise<void>;
}

interface Place {
  /** A folder of its own, which is removed at the end. */
  readonly folder: string;
  readonly port: number;
  /** Two api processes, as `127.0.0.1:<port>`. */
  readonly apis: readonly [string, string];
}

interface Start {
  command: string[];
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  /** Where the certificate of its authority is. */
  authority: string;
}

/** Replaces what is written for the operator's machine with what is on this one. Each must be there. */
function replaceAll(text: string, replacements: Record<string, string>): string {
  for (const [written, here] of Object.entries(replacements)) {
    if (!text.includes(written)) throw new Error(`the configuration has no ${written}`);
    text = text.replaceAll(written, here);
  }
  return text;
}

const read = (file: string) => readFile(join(deploy, file), "utf8");

/** A certificate for localhost that signs itself, in `folder`; returns the paths of it and its key, and of both in one file. */
async function makeCertificate(folder: string) {
  const [certificate, key, both] = [join(folder, "cert.pem"), join(folder, "key.pem"), join(folder, "both.pem")];
  const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-days", "2"];
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  await promisify(execFile)("openssl", ["req", "-x509", ...curve, ...subject, "-keyout", key, "-out", certificate]);
  await writeFile(both, (await readFile(certificate, "utf8")) + (await readFile(key, "utf8")));
  return { certificate, key, both };
}

async function nginx({ folder, port, apis }: Place): Promise<Start> {
  const { certificate, key } = await makeCertificate(folder);
  const site = replaceAll(await read("nginx/rebid.conf"), {
    "listen 80;": `listen 127.0.0.1:${await unusedPort()};`,
    "listen 443 ssl": `listen 127.0.0.1:${port} ssl`,
    "127.0.0.1:3000": apis[0],
    "127.0.0.1:3001": apis[1],
    "/etc/ssl/rebid/fullchain.pem": certificate,
    "/etc/ssl/rebid/key.pem": key,
  });
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path ${folder};`);
  const file = join(folder, "nginx.conf");
  const http = `${temporary.join("\n")}\naccess_log off;\n${site}`;
  const log = `error_log ${folder}/error.log;`;
  await writeFile(file, `daemon off;\n${log}\npid ${folder}/pid;\nevents {}\nhttp {\n${http}}\n`);
  return { command: ["nginx", "-e", join(folder, "error.log"), "-c", file], authority: certificate };
}

async function caddy({ folder, port, apis }: Place): Promise<Start> {
  const env = {
    SITE: "localhost",
    APIS: apis.join(" "),
    HTTP_PORT: String(await unusedPort()),
    HTTPS_PORT: String(port),
    XDG_DATA_HOME: folder,
    XDG_CONFIG_HOME: folder,
  };
  const command = ["caddy", "run", "--adapter", "caddyfile", "--config", join(deploy, "caddy/Caddyfile")];
  return { command, env, authority: join(folder, "caddy/pki/authorities/local/root.crt") };
}

async function haproxy({ folder, port, apis }: Place): Promise<Start> {
  const { certificate, both } = await makeCertificate(folder);
  const file = join(folder, "haproxy.cfg");
  const written = await read("haproxy/haproxy.cfg");
  const [bind = ""] = /bind "[^"]+"/.exec(written) ?? [];
  await writeFile(file, replaceAll(written, { [bind]: `${bind} ssl crt ${both}` }));
  const env = { LISTEN: `127.0.0.1:${port}`, API_1: apis[0], API_2: apis[1] };
  // The path of the error file is relative.
  return { command: ["haproxy", "-db", "-f", file], cwd: join(deploy, "haproxy"), env, authority: certificate };
}

const proxies = { nginx, caddy, haproxy };
export type ProxyName = keyof typeof proxies;
export const proxyNames: readonly ProxyName[] = ["nginx", "caddy", "haproxy"];

/** Starts one of Debian's proxies in front of these two api processes. Rejects with what it printed if it ends. */
export async function startProxy(name: ProxyName, apis: readonly [string, string]): Promise<RunningProxy> {
  const folder = await mkdtemp(join(tmpdir(), `rebid-${name}-`));
  const port = await unusedPort();
  const { command, cwd, env, authority } = await proxies[name]({ folder, port, apis });
  const [program = "", ...parameters] = command;
  const child = spawn(program, parameters, {
    cwd: cwd ?? folder,
    env: { PATH: process.env.PATH, HOME: folder, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  const ended = once(child, "close");
  const certificate = await vi
    .waitFor(() => Promise.all([readFile(authority, "utf8"), reach(port)]), { timeout: 60_000, interval: 50 })
    .catch((error) => {
      throw new Error(`${name} does not listen\n${output}`, { cause: error });
    });
  return {
    url: `https://localhost:${port}`,
    authority: certificate[0],
    async stop() {
      child.kill("SIGTERM");
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Resolves when something listens on this port. */
async function reach(port: number): Promise<void> {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  socket.destroy();
}
