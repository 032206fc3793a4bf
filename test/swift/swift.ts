import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, open, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { CreateBucketCommand, S3Client } from "@aws-sdk/client-s3";
import getPort from "get-port";

const run = promisify(execFile);
const START_TIMEOUT_MS = 60_000;

interface Account {
  bucket: string;
  region: string;
  /** `account:user`, as Swift's tempauth names it. */
  accessKeyId: string;
  secretAccessKey: string;
}

const servers = ["account", "container", "object"] as const;
type ServerName = (typeof servers)[number];
type Ports = Record<ServerName | "proxy" | "memcached", number>;

/** Starts Swift with one device and one replica, and creates the bucket. */
export async function startSwift(
  directory: string,
  account: Account,
): Promise<{ endpoint: string; stop(): Promise<void> }> {
  const [proxy, memcached, ...rest] = await Promise.all(Array.from({ length: 5 }, () => getPort()));
  const [accounts, containers, objects] = rest;
  if (!proxy || !memcached || !accounts || !containers || !objects) throw new Error("no free port");
  const ports: Ports = { proxy, memcached, account: accounts, container: containers, object: objects };
  await mkdir(join(directory, "devices", "d1"), { recursive: true });
  await buildRings(directory, ports);
  await writeFile(join(directory, "proxy.conf"), proxySettings(directory, account, ports));
  for (const name of servers) await writeFile(join(directory, `${name}.conf`), serverSettings(directory, name, ports));

  const log = await open(join(directory, "log"), "a");
  const start = (command: string, ...parameters: string[]) =>
    spawn(command, parameters, { stdio: ["ignore", log.fd, log.fd] });
  const processes = [
    start("memcached", "-l", "127.0.0.1", "-p", String(memcached), "-u", "root"),
    ...[...servers, "proxy" as const].map((name) => start(`swift-${name}-server`, join(directory, `${name}.conf`))),
  ];
  const stop = async () => {
    await Promise.all(processes.map(end));
    await log.close();
  };
  try {
    const endpoint = `http://127.0.0.1:${proxy}`;
    await createBucket(endpoint, account);
    return { endpoint, stop };
  } catch (error) {
    await stop();
    console.error(await readFile(join(directory, "log"), "utf8"));
    throw error;
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}

/** For Debian's own Python, in one process: `swift-ring-builder` would start nine of them. */
const RING_SCRIPT = `
import sys
from swift.common.ring import RingBuilder
for name, port in zip(sys.argv[1::2], sys.argv[2::2]):
    builder = RingBuilder(4, 1, 0)
    builder.add_dev(dict(region=1, zone=1, ip="127.0.0.1", port=int(port), device="d1", weight=1))
    builder.rebalance()
    builder.get_ring().save(name + ".ring.gz")
`;

/** Writes the maps that tell the proxy where each kind of data is. */
async function buildRings(directory: string, ports: Ports): Promise<void> {
  const parameters = servers.flatMap((name) => [name, String(ports[name])]);
  await run("/usr/bin/python3", ["-c", RING_SCRIPT, ...parameters], { cwd: directory });
}

const common = (directory: string, port: number) => `[DEFAULT]
bind_ip = 127.0.0.1
bind_port = ${port}
workers = 0
user = root
swift_dir = ${directory}
log_address = ${join(directory, "no-syslog")}
`;

const serverSettings = (directory: string, name: ServerName, ports: Ports) => `${common(directory, ports[name])}
devices = ${join(directory, "devices")}
mount_check = false
recon_cache_path = ${directory}
[pipeline:main]
pipeline = ${name}-server
[app:${name}-server]
use = egg:swift#${name}
`;

function proxySettings(directory: string, { accessKeyId, secretAccessKey, region }: Account, ports: Ports): string {
  const filters = {
    ...{ catch_errors: "", gatekeeper: "", healthcheck: "", listing_formats: "", bulk: "", copy: "", slo: "", dlo: "" },
    cache: `memcache_servers = 127.0.0.1:${ports.memcached}`,
    s3api: `location = ${region}\ns3_acl = false`,
    tempauth: `user_${accessKeyId.replace(":", "_")} = ${secretAccessKey} .admin`,
  };
  const eggs: Record<string, string> = { cache: "memcache" };
  const sections = Object.entries(filters).map(
    ([name, settings]) => `[filter:${name}]\nuse = egg:swift#${eggs[name] ?? name}\n${settings}`,
  );
  return `${common(directory, ports.proxy)}
[pipeline:main]
pipeline = catch_errors gatekeeper healthcheck cache listing_formats bulk s3api tempauth copy slo dlo proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
allow_account_management = true
${sections.join("\n")}
`;
}

/** Waits until the store answers. */
async function createBucket(endpoint: string, { bucket, region, ...credentials }: Account): Promise<void> {
  const client = new S3Client({ endpoint, region, credentials, forcePathStyle: true, maxAttempts: 1 });
  const deadline = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    try {
      await client.send(new CreateBucketCommand({ Bucket: bucket }));
      return client.destroy();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await sleep(200);
    }
  }
}
