import { appendFile, chmod, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { machineEnvironment, run } from "./processes.ts";
import { SERVER_PATH, Units } from "./units.ts";

/** Where Debian's Caddy keeps the certificate of an authority of its own, which it uses for names below `localhost`. */
const AUTHORITY = "var/lib/caddy/.local/share/caddy/pki/authorities/local/root.crt";
const CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt";

const call = (command: string, ...parameters: string[]) =>
  run(command, parameters, { cwd: "/", env: machineEnvironment() });

/**
 * An empty server: the files of this machine, with every change in memory, an empty PostgreSQL, and a network of its own. The
 * process must be in namespaces of its own for mounts, network and processes; at its end, nothing is left.
 * @param domain leads to the server itself
 */
export async function openServer(folder: string, domain: string) {
  const [root, upper, work] = ["root", "upper", "work"].map((name) => join(folder, name)) as [string, string, string];
  await call("mount", "-t", "tmpfs", "tmpfs", folder);
  for (const each of [root, upper, work]) await mkdir(each);
  await call("mount", "-t", "overlay", "overlay", "-o", `lowerdir=/,upperdir=${upper},workdir=${work}`, root);
  await call("mount", "--rbind", "/dev", join(root, "dev"));
  await call("mount", "--rbind", "/proc", join(root, "proc"));
  for (const each of ["run", "tmp"]) await call("mount", "-t", "tmpfs", "-o", "mode=1777", "tmpfs", join(root, each));
  await call("ip", "link", "set", "lo", "up");
  await writeFile("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0"); // what Caddy's unit may do by a capability

  // What of a server may be on this machine.
  for (const each of ["etc/rebid", "etc/postgresql", "var/lib/postgresql", "var/backups/rebid", "var/lib/caddy/.local"])
    await rm(join(root, each), { recursive: true, force: true });
  await appendFile(join(root, "etc/hosts"), `127.0.0.1 ${domain}\n`);
  await call("mount", "--bind", join(root, "etc/hosts"), "/etc/hosts");
  const versions = await readdir(join(root, "usr/lib/postgresql"));
  const newest = versions.map(Number).sort((a, b) => b - a)[0];
  // As Debian's package does when it is installed.
  await call("chroot", root, "install", "-d", "-o", "postgres", "-g", "postgres", "/var/lib/postgresql");
  await call("chroot", root, "pg_createcluster", String(newest), "main", "--start");

  const units = new Units(root);
  const systemctl = createServer(async (request, response) => {
    const parameters = (await text(request)).split(" ");
    try {
      await units.systemctl(parameters);
      if (parameters.includes("caddy")) await trustCaddy(root);
      response.end();
    } catch (error) {
      response.writeHead(500).end(`${error}\n`);
    }
  });
  await new Promise<void>((resolve) => systemctl.listen(0, "127.0.0.1", resolve));
  const address = `http://127.0.0.1:${(systemctl.address() as AddressInfo).port}`;
  const program = join(root, "usr/local/sbin/systemctl");
  await writeFile(program, `#!/bin/sh\nexec curl -sS --fail-with-body --data-raw "$*" ${address}\n`);
  await chmod(program, 0o755);
  return { root, units, environment: { PATH: SERVER_PATH, HOME: "/root", NODE_EXTRA_CA_CERTS: CERTIFICATES } };
}

/** Lets this process and the server trust Caddy's authority, as everyone trusts the one that signs a real certificate. */
async function trustCaddy(root: string): Promise<void> {
  for (let tries = 0; ; tries++) {
    const certificate = await readFile(join(root, AUTHORITY), "utf8").catch(() => null);
    if (certificate !== null) {
      await appendFile(join(root, CERTIFICATES), certificate);
      setDefaultCACertificates([...getCACertificates("default"), certificate]);
      return;
    }
    if (tries === 300) throw new Error("Caddy has made no authority");
    await sleep(100);
  }
}
