import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, onTestFinished, test } from "vitest";
import { readSettings } from "../../client-sdk/mcp/src/settings.ts";
import { tools } from "../../server/mcp/tools/table.ts";
import { createPerson } from "../factories/people.ts";
import { useService } from "../setup/testService.ts";
import { type ProtocolName, protocols } from "./client.ts";

const service = useService();
const cli = "client-sdk/mcp/src/cli.ts";

/** Connects as a desktop client does: it starts the command, and speaks with it over standard input and output. */
async function connectDesktop(environment: Record<string, string>, protocol: ProtocolName) {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [cli],
    env: environment,
    stderr: "pipe",
  });
  let printed = "";
  transport.stderr?.on("data", (chunk: Buffer) => {
    printed += chunk.toString();
  });
  const client = new Client(
    { name: "desktop", version: "1.0.0" },
    { versionNegotiation: { mode: protocol === "2025" ? "legacy" : "auto" } },
  );
  onTestFinished(() => client.close());
  return { connecting: client.connect(transport), client, printed: () => printed };
}

const keyOf = ({ authorization = "" }: Record<string, string>) => authorization.replace("Bearer ", "");

test.each(protocols)("a desktop client works over standard input and output, with protocol %s", async (protocol) => {
  const person = await createPerson(service, { cents: 10_000 });
  const environment = { REBID_BASE_URL: service.url, REBID_API_KEY: keyOf(person.key) };
  const { connecting, client, printed } = await connectDesktop(environment, protocol);
  await connecting;
  expect(client.getNegotiatedProtocolVersion()?.startsWith(protocol)).toBe(true);
  expect((await client.listTools()).tools).toHaveLength(tools.length);
  const { structuredContent } = await client.callTool({ name: "get_wallet", arguments: {} });
  expect(structuredContent).toMatchObject({ availableCents: 10_000 });
  expect(printed()).toBe("");
});

test("requests that are piped in have their answers, although the input ends at once", async () => {
  const person = await createPerson(service, { cents: 10_000 });
  const env = { ...process.env, REBID_BASE_URL: service.url, REBID_API_KEY: keyOf(person.key) };
  const child = spawn(process.execPath, [cli], { env, stdio: ["pipe", "pipe", "inherit"] });
  const clientInfo = { name: "script", version: "1.0.0" };
  const messages = [
    { id: 1, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo } },
    { method: "notifications/initialized" },
    { id: 2, method: "tools/list" },
    { id: "three", method: "tools/call", params: { name: "get_wallet", arguments: {} } },
  ];
  child.stdin.end(messages.map((message) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`).join(""));
  const [printed, [code]] = await Promise.all([text(child.stdout), once(child, "close")]);
  const answers = new Map(
    printed
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line))
      .map(({ id, result }) => [id, result]),
  );
  expect(code).toBe(0);
  expect([...answers.keys()].sort()).toEqual([1, 2, "three"]);
  expect(answers.get("three").structuredContent).toMatchObject({ availableCents: 10_000 });
});

test("a key that is not accepted is explained, and never printed", async () => {
  const key = "rb_live_AAAAAAAAAAAAAAAAAAAAAA";
  const { connecting, printed } = await connectDesktop({ REBID_BASE_URL: service.url, REBID_API_KEY: key }, "2025");
  await expect(connecting).rejects.toThrow(/does not accept the API key/);
  expect(printed()).toMatch(/set REBID_API_KEY/);
  expect(printed()).not.toContain(key);
});

test("settings come from arguments or the environment, and a mistake is explained without the key", () => {
  const key = "rb_live_ABCDEFGHIJKLMNOPQRSTUV";
  const environment = { REBID_BASE_URL: "https://rebid.example.com/base/", REBID_API_KEY: key };
  expect(readSettings([], environment)).toEqual({
    ...{ url: new URL("https://rebid.example.com/base/mcp"), apiKey: key, isLogin: false },
  });
  expect(readSettings(["login"], environment)).toMatchObject({ apiKey: null, isLogin: true });
  expect(readSettings(["--base-url", "http://localhost:3000", "--api-key", key], {})?.url.href).toBe(
    "http://localhost:3000/mcp",
  );
  expect(readSettings(["--help"], {})).toBeNull();
  const messageOf = (args: string[], variables: Record<string, string>) => {
    try {
      return readSettings(args, variables);
    } catch (error) {
      return String(error);
    }
  };
  expect(messageOf([], {})).toMatch(/Set REBID_BASE_URL/);
  expect(messageOf(["log-in"], environment)).toMatch(/unknown/);
  expect(messageOf([], { ...environment, REBID_BASE_URL: "rebid" })).toMatch(/is not an address/);
  expect(messageOf([], { ...environment, REBID_BASE_URL: "http://rebid.example.com" })).toMatch(
    /must begin with https/,
  );
  expect(messageOf([], { ...environment, REBID_BASE_URL: "https://a:b@rebid.example.com" })).toMatch(
    /must not contain/,
  );
  for (const wrong of [
    messageOf([], { ...environment, REBID_API_KEY: `${key}!` }),
    messageOf([`--${key}`], environment),
  ]) {
    expect(wrong).toMatch(/^SettingsError/);
    expect(wrong).not.toContain(key);
  }
});
