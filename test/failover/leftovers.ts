import { execFile } from "node:child_process";
import { glob, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

// A run is known by the id of its process, which is in the names of its directory and of its network's parts. All of its
// files are in the directory, and each of its processes has the directory in its command or its environment.

const run = promisify(execFile);
const DIRECTORY = /^rebid-failover-(\d+)-run$/;
const MACHINE = /^rb(\d+)n\d+$/;
const BRIDGE = /^rb(\d+)$/;

/** The parent of directories, before it is a run's own. */
const parent = tmpdir();

export const directoryOf = (run: number): string => join(parent, `rebid-failover-${run}-run`);

/** The name of a run's network. Those of its machines and cables begin with it. */
export const networkOf = (run: number): string => `rb${run}`;

/** The lines of a command's output; none where there is no such command. */
async function lines(file: string, ...parameters: string[]): Promise<string[]> {
  const { stdout } = await run(file, parameters).catch(() => ({ stdout: "" }));
  return stdout.split("\n").filter((line) => line !== "");
}

const firstWord = (line: string): string => line.split(/[ @:]/)[0] ?? "";
const listMachines = async () => (await lines("ip", "netns", "list")).map(firstWord);
const listBridges = async () => (await lines("ip", "-brief", "link", "show", "type", "bridge")).map(firstWord);

/** The runs that have ended and left something. */
export async function findDeadRuns(): Promise<number[]> {
  const runsIn = (names: string[], pattern: RegExp) => names.map((name) => Number(pattern.exec(name)?.[1]));
  const runs = [
    ...runsIn(await readdir(parent), DIRECTORY),
    ...runsIn(await listMachines(), MACHINE),
    ...runsIn(await listBridges(), BRIDGE),
  ];
  return [...new Set(runs)].filter((run) => run > 0 && !isAlive(run));
}

function isAlive(pid: number): boolean {
  if (pid === process.pid) return false; // It had this id before us.
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/** Ends all processes of a run, and removes its network and its files. */
export async function removeRun(run: number): Promise<void> {
  for (let pids = await processesOf(run); pids.length > 0; pids = await processesOf(run)) {
    for (const pid of pids) kill(pid);
    await sleep(20);
  }
  for (const machine of await machinesOf(run)) await lines("ip", "netns", "del", machine);
  await lines("ip", "link", "del", networkOf(run));
  await removeSharedMemory(directoryOf(run));
  await rm(directoryOf(run), { recursive: true, force: true });
}

async function machinesOf(run: number): Promise<string[]> {
  return (await listMachines()).filter((name) => MACHINE.exec(name)?.[1] === String(run));
}

async function processesOf(run: number): Promise<number[]> {
  const inside = await Promise.all((await machinesOf(run)).map((machine) => lines("ip", "netns", "pids", machine)));
  const belongs = async (pid: string) => {
    const texts = ["cmdline", "environ"].map((file) => readFile(`/proc/${pid}/${file}`, "latin1").catch(() => ""));
    return (await Promise.all(texts)).some((text) => text.includes(directoryOf(run)));
  };
  const outside: string[] = [];
  for (const pid of await readdir("/proc")) if (/^\d+$/.test(pid) && (await belongs(pid))) outside.push(pid);
  return [...new Set([...inside.flat(), ...outside].map(Number))].filter((pid) => pid !== process.pid);
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has just ended.
  }
}

/** A server that is killed leaves its segment of System V's shared memory, whose id is in the last line but one of its file. */
async function removeSharedMemory(directory: string): Promise<void> {
  for await (const file of glob(join(directory, "**/postmaster.pid"))) {
    const segment = /^ *\d+ +(\d+) *$/m.exec(await readFile(file, "utf8"))?.[1];
    if (segment !== undefined) await lines("ipcrm", "-m", segment);
  }
}
