import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync } from "node:fs";
import { join } from "node:path";
import { compileCache } from "./compileCache.ts";

const root = join(import.meta.dirname, "../..");

/** These run when they are imported. */
const programs = [
  "**/node_modules/**",
  "server/commands/**",
  "server/start/main.ts",
  "server/gateways/inspection/thread.ts",
];

/**
 * Fills the compile cache of a fresh clone with the modules of a service. Otherwise all workers and the first services would
 * strip and compile them at the same time, each taking more than a second of CPU time.
 */
export async function compileModules(): Promise<void> {
  if (existsSync(compileCache.NODE_COMPILE_CACHE)) return;
  const modules = globSync("server/**/*.ts", { cwd: root, exclude: programs }).map((path) => join(root, path));
  const load = "for (const path of process.argv.slice(1)) await import(path)";
  const child = spawn(process.execPath, ["--input-type=module", "-e", load, ...modules], {
    env: { ...process.env, ...compileCache },
    stdio: "ignore",
  });
  await once(child, "close");
}
