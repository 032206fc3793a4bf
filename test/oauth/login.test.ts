import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, onTestFinished, test } from "vitest";
import { createPerson } from "../factories/people.ts";
import { useService } from "../setup/testService.ts";
import { harmless } from "./flow.ts";

const service = useService();
const cli = "client-sdk/mcp/src/cli.ts";

test("a login in a terminal, allowed in a browser, connects a desktop client without a key, and renews its tokens", {
  timeout: 60_000,
}, async () => {
  const person = await createPerson(service, { cents: 10_000 });
  const folder = await mkdtemp(join(tmpdir(), "rebid-login-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const env = { REBID_BASE_URL: service.url, XDG_CONFIG_HOME: folder };
  const child = spawn(process.execPath, [cli, "login"], { env: { ...process.env, ...env } });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => {
    said += chunk.toString();
  });
  await expect.poll(() => said, { timeout: 20_000 }).toMatch(/type [A-Z]{4}-[A-Z]{4}/);
  const [, code = ""] = /type ([A-Z-]+)/.exec(said) ?? [];
  expect((await person.post(`/oauth/devices/${code}`, harmless)).status).toBe(200);
  const [exitCode] = await once(child, "exit");
  expect(exitCode, said).toBe(0);

  const file = join(folder, "rebid", "credentials.json");
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const stored = JSON.parse(await readFile(file, "utf8"));
  const [address = ""] = Object.keys(stored);
  await writeFile(file, JSON.stringify({ [address]: { ...stored[address], expiresAt: 0 } }));

  const client = new Client({ name: "desktop", version: "1.0.0" }, { versionNegotiation: { mode: "auto" } });
  onTestFinished(() => client.close());
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [cli], env, stderr: "inherit" }));
  const { structuredContent } = await client.callTool({ name: "get_wallet", arguments: {} });
  expect(structuredContent).toMatchObject({ availableCents: 10_000 });
  const renewed = JSON.parse(await readFile(file, "utf8"));
  expect(renewed[address].refreshToken).not.toBe(stored[address].refreshToken);
  expect((await person.get("/keys")).body.keys[0]).toMatchObject({ kind: "grant", client: { name: "rebid-mcp" } });
});
