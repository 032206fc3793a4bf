import { execFile } from "node:child_process";
import { chmod, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

/** How to start a binary without being root. */
export interface Launch {
  /** The directory of the binaries. */
  binaries: string;
  /** The command that the binary's path and arguments are appended to. Empty means the binary itself. */
  wrapper: string[];
  account: { uid: number; gid: number } | undefined;
}

/**
 * Chooses how to run the binaries without being root, which Postgres refuses. An ordinary user runs them directly. Root
 * runs them in a user namespace that maps root to user 1000: the files stay root's, and directories that only root may
 * enter (like /root) work. Where the system does not allow that (Docker's default, macOS), they run as the owner of the
 * parent directory or, if that is root, as `nobody`.
 * @throws Error with advice when none of these works
 */
export async function chooseLaunch(directory: string, binaries: string): Promise<Launch> {
  const direct: Launch = { binaries, wrapper: [], account: undefined };
  if (process.getuid?.() !== 0) return direct;

  const unshare = ["unshare", "-U", "--map-user=1000", "--map-group=1000", "--"];
  const inNamespace: Launch = { binaries, wrapper: unshare, account: undefined };
  if (await canReach(inNamespace, directory)) return inNamespace;

  const { uid, gid } = await stat(dirname(directory));
  const asOther: Launch = { binaries, wrapper: [], account: uid === 0 ? await accountOf("nobody") : { uid, gid } };
  const mode = (await stat(directory)).mode & 0o777;
  await chmod(directory, mode | 0o011); // Lets the account pass through to its cluster, and nothing else.
  if (await canReach(asOther, directory)) return asOther;
  await chmod(directory, mode);
  throw new Error(
    "Postgres does not run as root, this system does not allow user namespaces (unshare -U), and no other user can " +
      `enter ${directory} or run ${binaries}. Start as an ordinary user, or set DATA_DIR to a directory that others ` +
      "can enter, such as /var/lib/rebid, or set DATABASE_URL to your own PostgreSQL.",
  );
}

async function canReach(how: Launch, directory: string): Promise<boolean> {
  const check = 'test -x "$1" && cd "$2" && exec "$1" --version';
  const [command = "", ...options] = [
    ...how.wrapper,
    "/bin/sh",
    "-c",
    check,
    "sh",
    join(how.binaries, "postgres"),
    directory,
  ];
  try {
    await promisify(execFile)(command, options, { ...how.account, cwd: "/" });
    return true;
  } catch {
    return false;
  }
}

async function accountOf(user: string): Promise<{ uid: number; gid: number }> {
  const ask = async (option: string) => Number((await promisify(execFile)("id", [option, user])).stdout);
  return { uid: await ask("-u"), gid: await ask("-g") };
}

/** Changes a cluster's owner to the account that will run it. The way root runs Postgres differs between machines. */
export async function handOver(cluster: string, how: Launch): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = how.account ?? { uid: 0, gid: 0 };
  if ((await stat(cluster)).uid !== uid) await promisify(execFile)("chown", ["-R", `${uid}:${gid}`, cluster]);
}
