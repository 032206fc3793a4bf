#!/usr/bin/env node
import { createRequire } from "node:module";
import { SdkHttpError, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { bridge, OpenRequests } from "./bridge.ts";
import { CredentialsFile } from "./credentials.ts";
import { accessToken, login } from "./login.ts";
import { readSettings, type Settings, SettingsError, usage } from "./settings.ts";

/** The file's place relative to the manifest is the same in the package, in dist/. */
const { version } = createRequire(import.meta.url)("../package.json") as { version: string };

/** Says what is wrong in words that help. Standard output belongs to the protocol, so people read this in the client's log. */
function explain({ url }: Settings, error: unknown): string {
  if (!(error instanceof SdkHttpError))
    return `Rebid does not answer at ${url.origin}. Is REBID_BASE_URL right, and the service running?`;
  const { status } = error;
  if (status === 401)
    return "Rebid does not accept the API key or login. It may be revoked or expired: run `npx @rebid/mcp login`, or create another key and set REBID_API_KEY.";
  if (status === 404) return `There is no Rebid at ${url.origin}. Is REBID_BASE_URL right?`;
  return `Rebid answered ${status}: ${messageOf(error.data.text)}`;
}

/** The message in the API's error body. */
function messageOf(body: unknown): string {
  try {
    const { message }: { message?: unknown } = JSON.parse(String(body));
    return String(message);
  } catch {
    return "no explanation";
  }
}

async function main(): Promise<void> {
  const settings = readSettings(process.argv.slice(2), process.env);
  if (settings === null) {
    process.stderr.write(usage);
    return;
  }
  const { url, apiKey, isLogin } = settings;
  const file = new CredentialsFile(process.env);
  if (isLogin) return login(url, file, (text) => void process.stderr.write(text));
  if (apiKey === null && file.read(url) === null) {
    throw new SettingsError(
      "Run `npx @rebid/mcp login` once, or set REBID_API_KEY to an API key. A person makes one in the console, at /app/keys.",
    );
  }
  const requestInit = { headers: { "User-Agent": `rebid-mcp/${version}` } };
  const fetchAs: typeof fetch = async (target, init) => {
    const headers = new Headers(init?.headers);
    headers.set("Authorization", `Bearer ${apiKey ?? (await accessToken(url, file)) ?? ""}`);
    return fetch(target, { ...init, headers });
  };
  const open = new OpenRequests();
  await bridge({
    open,
    local: new StdioServerTransport(open.holdOpen(process.stdin)),
    remote: new StreamableHTTPClientTransport(url, { requestInit, fetch: fetchAs }),
    explain(error) {
      const words = explain(settings, error);
      process.stderr.write(`${words}\n`);
      return words;
    },
  });
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    const words = error instanceof SettingsError ? error.message : "The connection could not be started.";
    process.stderr.write(`${words}\n`);
    process.exit(1);
  },
);
