import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ownDataDirectory, readLocalState } from "../../server/local/dataDirectory/own.ts";

const ownModule = new URL("../../server/local/dataDirectory/own.ts", import.meta.url).href;
const children: ChildProcess[] = [];
let root: string;
let directory: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "rebid-directory-"));
  directory = join(root, "data");
});

afterEach(async () => {
  await Promise.all(children.splice(0).map(kill));
  rmSync(root, { recursive: true, force: true });
});

/** Starts a real process that runs a script with the modules' functions, and reads the lines that it prints. */
function startProcess(script: string) {
  const code = `import { ownDataDirectory, readLocalState } from ${JSON.stringify(ownModule)};
    const directory = process.argv[1];
    ${script}`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", code, directory], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  children.push(child);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return { child, nextLine: async (): Promise<string> => (await lines.next()).value ?? "(ended)" };
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, "exit");
  child.kill("SIGKILL");
  await exit;
}

/** A process that owns the directory until it is killed. */
async function startOwner(changes: object = {}): Promise<ChildProcess> {
  const { child, nextLine } = startProcess(`
    const owned = await ownDataDirectory(directory);
    owned.update(${JSON.stringify(changes)});
    console.log("owns");
    setInterval(() => owned, 60_000);`);
  expect(await nextLine()).toBe("owns");
  return child;
}

describe("ownDataDirectory", () => {
  test("creates a directory and a state file that only their owner can read", async () => {
    const owned = await ownDataDirectory(directory);
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    expect(statSync(join(directory, "local.json")).mode & 0o777).toBe(0o600);
    owned.release();
  });

  test("of several processes that want a directory at the same time, exactly one wins", async () => {
    const contenders = Array.from({ length: 6 }, () =>
      startProcess(`
        console.log("ready");
        process.stdin.once("data", () =>
          ownDataDirectory(directory).then(
            (owned) => { console.log("won"); setInterval(() => owned, 60_000); },
            (error) => console.log(error.message),
          ));`),
    );
    for (const contender of contenders) expect(await contender.nextLine()).toBe("ready");
    for (const contender of contenders) contender.child.stdin?.write("go\n");
    const answers = await Promise.all(contenders.map((contender) => contender.nextLine()));
    const winner = contenders[answers.indexOf("won")]?.child;
    expect(answers.filter((answer) => answer === "won")).toHaveLength(1);
    expect(answers.filter((answer) => answer.includes(`in use by process ${winner?.pid}`))).toHaveLength(5);
  });

  test("the error names the directory, the process and the URL of the running service", async () => {
    const owner = await startOwner({ serviceUrl: "http://localhost:3000" });
    const refusal = await ownDataDirectory(directory).catch((error: Error) => error.message);
    expect(refusal).toContain(directory);
    expect(refusal).toContain(`process ${owner.pid}, which serves http://localhost:3000`);
  });

  test("an owner killed by SIGKILL does not block the next start, which keeps its ports and secrets", async () => {
    const owner = await startOwner({
      serviceUrl: "http://localhost:3000",
      databaseUrl: "postgresql://rebid:secret@127.0.0.1:5555/rebid",
    });
    await kill(owner);
    const owned = await ownDataDirectory(directory);
    expect(owned.state()).toEqual({
      pid: process.pid,
      databaseUrl: "postgresql://rebid:secret@127.0.0.1:5555/rebid",
    });
    owned.release();
  });

  test("a reused pid does not count as an owner", async () => {
    (await ownDataDirectory(directory)).release();
    writeFileSync(join(directory, "local.json"), JSON.stringify({ pid: process.ppid }));
    expect(readLocalState(directory)).toBeNull();
    const owned = await ownDataDirectory(directory);
    expect(owned.state().pid).toBe(process.pid);
    owned.release();
  });

  test("a process cannot own a directory twice, but can own it again after releasing it", async () => {
    const owned = await ownDataDirectory(directory);
    await expect(ownDataDirectory(directory)).rejects.toThrow(`in use by process ${process.pid}`);
    owned.release();
    owned.release();
    expect(() => owned.update({})).toThrow("released");
    (await ownDataDirectory(directory)).release();
  });

  test("a path much longer than a unix socket's works", async () => {
    directory = join(root, ...Array.from({ length: 8 }, () => "a".repeat(50)));
    await startOwner();
    await expect(ownDataDirectory(directory)).rejects.toThrow("in use");
  });

  test("readers never cause a start to fail", async () => {
    (await ownDataDirectory(directory)).release();
    const readers = Array.from({ length: 2 }, () =>
      startProcess(`
        console.log("reading");
        for (let count = 0; count < 500; count++) readLocalState(directory);
        console.log("done");`),
    );
    for (const reader of readers) expect(await reader.nextLine()).toBe("reading");
    for (let count = 0; count < 50; count++) (await ownDataDirectory(directory)).release();
    for (const reader of readers) expect(await reader.nextLine()).toBe("done");
  });

  test("the error about an invalid state file names it, and the directory stays free", async () => {
    (await ownDataDirectory(directory)).release();
    writeFileSync(join(directory, "local.json"), "{");
    await expect(ownDataDirectory(directory)).rejects.toThrow("local.json is not valid");
    rmSync(join(directory, "local.json"));
    (await ownDataDirectory(directory)).release();
  });

  test("an invalid update changes nothing", async () => {
    const owned = await ownDataDirectory(directory);
    expect(() => owned.update({ databaseUrl: "not a URL" })).toThrow();
    expect(owned.state().databaseUrl).toBeUndefined();
    expect(JSON.parse(readFileSync(join(directory, "local.json"), "utf8"))).toEqual({ pid: process.pid });
    owned.release();
  });
});

describe("readLocalState", () => {
  test("returns the state exactly while an owner is alive", async () => {
    expect(readLocalState(directory)).toBeNull();
    const owner = await startOwner({ serviceUrl: "http://localhost:3000" });
    expect(readLocalState(directory)).toEqual({ pid: owner.pid, serviceUrl: "http://localhost:3000" });
    await kill(owner);
    expect(readLocalState(directory)).toBeNull();
  });

  test("works inside the owner, which keeps the directory", async () => {
    const owned = await ownDataDirectory(directory);
    expect(readLocalState(directory)?.pid).toBe(process.pid);
    const { nextLine } = startProcess(`console.log(String(readLocalState(directory)?.pid));`);
    expect(await nextLine()).toBe(String(process.pid));
    owned.release();
  });
});
