import { parseArgs } from "node:util";

export interface Settings {
  /** The service's `/mcp`. */
  url: URL;
  /** Null: the tokens of an earlier login are used. */
  apiKey: string | null;
  /** Whether to log in, and do nothing else. */
  isLogin: boolean;
}

/** A mistake in the settings, whose message is for the person who made it. It never contains the key. */
export class SettingsError extends Error {
  override readonly name = "SettingsError";
}

export const usage = `Usage: npx @rebid/mcp [login] [--base-url URL] [--api-key KEY]

Connects a desktop client of the Model Context Protocol, over standard input and output, to Rebid.
\`login\` lets you allow this machine in a browser, once, in place of a key.

  --base-url  the address of the service, such as https://rebid.example.com (or REBID_BASE_URL)
  --api-key   an API key of yours, rb_live_… (or, better, REBID_API_KEY: others can see the arguments of a process)
`;

const keyPattern = /^rb_live_[A-Z2-7]{22}$/;
const thisMachine = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Reads the arguments and, for what they leave out, the environment. @throws SettingsError; null when help is asked for */
export function readSettings(args: readonly string[], environment: NodeJS.ProcessEnv): Settings | null {
  const { values, positionals } = parse(args);
  const { help, "base-url": baseUrl, "api-key": apiKey } = values;
  if (help) return null;
  const isLogin = positionals[0] === "login";
  if (positionals.length > (isLogin ? 1 : 0)) throw new SettingsError("An argument is unknown. See --help.");
  const key = apiKey ?? environment.REBID_API_KEY;
  return {
    url: endpointOf(baseUrl ?? environment.REBID_BASE_URL),
    apiKey: isLogin || !key ? null : checkKey(key),
    isLogin,
  };
}

function parse(args: readonly string[]) {
  const options = { "base-url": { type: "string" }, "api-key": { type: "string" }, help: { type: "boolean" } } as const;
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch {
    // Its own message repeats the argument, which may be the key.
    throw new SettingsError("An argument is unknown, or has no value. See --help.");
  }
}

function endpointOf(baseUrl: string | undefined): URL {
  if (!baseUrl)
    throw new SettingsError("Set REBID_BASE_URL to the address of the service, such as https://rebid.example.com.");
  if (!URL.canParse(baseUrl))
    throw new SettingsError("REBID_BASE_URL is not an address, such as https://rebid.example.com.");
  const url = new URL(baseUrl);
  const isSafe = url.protocol === "https:" || (url.protocol === "http:" && thisMachine.has(url.hostname));
  if (!isSafe)
    throw new SettingsError("REBID_BASE_URL must begin with https://, or the API key could be read on its way.");
  if (url.username || url.password) throw new SettingsError("REBID_BASE_URL must not contain a user or a password.");
  return new URL(`${url.pathname.replace(/\/+$/, "")}/mcp`, url);
}

function checkKey(apiKey: string): string {
  if (!keyPattern.test(apiKey.trim())) {
    throw new SettingsError("REBID_API_KEY is not an API key of Rebid: it has `rb_live_` and 22 letters and digits.");
  }
  return apiKey.trim();
}
