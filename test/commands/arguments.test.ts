import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);

test.each([
  ["audit", "server/commands/audit.ts"],
  ["demo", "server/commands/demo.ts"],
  ["seed", "server/commands/seed.ts"],
  ["moderator", "server/commands/moderator.ts"],
])("npm run %s refuses arguments that it does not know, before it does anything", async (_, file) => {
  const env = { PATH: process.env.PATH, DATA_DIR: "/nonexistent/rebid", PORT: "1" };
  await expect(run(process.execPath, [file, "--bogus"], { env })).rejects.toMatchObject({
    code: 2,
    stdout: "",
    stderr: expect.stringContaining("--bogus"),
  });
});
