import { setTimeout as sleep } from "node:timers/promises";
import type { CredentialsFile, StoredTokens } from "./credentials.ts";
import { SettingsError } from "./settings.ts";

const CLIENT_ID = "rebid-mcp";
const SCOPES = "task:write bid:write message:write agreement:write";
const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";
/** RFC 8628, 3.2: where the service names no other pause. */
const POLL_MS = 5_000;
/** Renewed so long before its end, so that none ends on its way. */
const EARLY_MS = 60_000;

interface Endpoints {
  resource: string;
  token: string;
  device: string;
}

async function readJson(url: URL): Promise<Record<string, unknown>> {
  const answer = await fetch(url, { redirect: "error" }).catch(() => null);
  if (answer === null) throw new SettingsError(`Rebid does not answer at ${url.origin}. Is REBID_BASE_URL right?`);
  if (!answer.ok) throw new SettingsError(`The Rebid at ${url.origin} knows no login. Use REBID_API_KEY.`);
  return (await answer.json()) as Record<string, unknown>; // whatever is not as documented is refused where it is used
}

/** What the service says of itself. It must be at the address that the person named: tokens are sent nowhere else. */
async function discover(mcp: URL): Promise<Endpoints> {
  const { resource } = await readJson(new URL("/.well-known/oauth-protected-resource/mcp", mcp));
  const server = await readJson(new URL("/.well-known/oauth-authorization-server", mcp));
  const isOwn = (url: unknown): url is string =>
    typeof url === "string" && URL.canParse(url) && new URL(url).origin === mcp.origin;
  const { token_endpoint: token, device_authorization_endpoint: device } = server;
  if (!isOwn(resource) || !isOwn(token) || !isOwn(device))
    throw new SettingsError(`This Rebid is at another address than ${mcp.origin}: set REBID_BASE_URL to that one.`);
  return { resource, token, device };
}

// biome-ignore lint/suspicious/noExplicitAny: an answer of RFC 6749, whose fields are checked where they are used
type Answer = any;

async function post(url: string, form: Record<string, string>): Promise<{ ok: boolean; body: Answer }> {
  const answer = await fetch(url, { method: "POST", redirect: "error", body: new URLSearchParams(form) });
  return { ok: answer.ok, body: await answer.json() };
}

const tokensOf = ({ access_token, refresh_token, expires_in }: Answer): StoredTokens => ({
  accessToken: access_token,
  refreshToken: refresh_token,
  expiresAt: Date.now() + expires_in * 1000,
});

/** Lets a person allow this machine in a browser, on any device, and keeps the tokens for later starts. */
export async function login(mcp: URL, file: CredentialsFile, say: (text: string) => void): Promise<void> {
  const { resource, token, device } = await discover(mcp);
  const begun = await post(device, { client_id: CLIENT_ID, resource, scope: SCOPES });
  if (!begun.ok) throw new SettingsError(`Rebid refused: ${begun.body.error_description ?? begun.body.error}`);
  const { device_code, user_code, verification_uri, verification_uri_complete, expires_in, interval } = begun.body;
  say(
    `Open ${verification_uri_complete}\nor ${verification_uri} and type ${user_code}. Only you should see this code.\n`,
  );
  const endsAt = Date.now() + expires_in * 1000;
  while (Date.now() < endsAt) {
    await sleep(interval ? interval * 1000 : POLL_MS);
    const { ok, body } = await post(token, { grant_type: DEVICE_GRANT, client_id: CLIENT_ID, device_code, resource });
    if (ok) {
      await file.update(mcp, async () => tokensOf(body));
      return say("Connected. Programs on this machine now use it without a key.\n");
    }
    if (body.error === "access_denied") throw new SettingsError("The person said no.");
    if (body.error !== "authorization_pending" && body.error !== "rate_limited")
      throw new SettingsError(`Rebid refused: ${body.error_description ?? body.error}`);
  }
  throw new SettingsError("The code has expired. Log in again.");
}

/** The access token of an earlier login, renewed if it ends soon. Null without one. */
export async function accessToken(mcp: URL, file: CredentialsFile): Promise<string | null> {
  const isFresh = ({ expiresAt }: StoredTokens) => expiresAt - EARLY_MS > Date.now();
  const known = file.read(mcp);
  if (known === null || isFresh(known)) return known?.accessToken ?? null;
  // A refresh token works once: of several processes, one renews it, and the others find what it got.
  const renewed = await file.update(mcp, async (current) => {
    if (current === null || isFresh(current)) return current;
    const { token, resource } = await discover(mcp);
    const form = { grant_type: "refresh_token", client_id: CLIENT_ID, refresh_token: current.refreshToken, resource };
    const { ok, body } = await post(token, form);
    if (ok) return tokensOf(body);
    return body.error === "invalid_grant" ? null : current;
  });
  return renewed?.accessToken ?? null;
}
