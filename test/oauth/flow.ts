import { createHash, randomBytes } from "node:crypto";
import { expect } from "vitest";
import type { Credentials } from "../setup/client.ts";

/** What one app and one browser hold while they connect. */
export interface Asked {
  clientId: string;
  redirectUri: string;
  resource?: string;
  scope?: string;
  state?: string;
  challenge?: string;
  extra?: Record<string, string>;
}

export const verifierOf = () => randomBytes(32).toString("base64url");
export const challengeOf = (verifier: string) => createHash("sha256").update(verifier).digest("base64url");

/** The cookies of one browser, by path as far as the flow needs it: every cookie goes to every path. */
export class Browser {
  readonly url: string;
  readonly #cookies = new Map<string, string>();

  constructor(url: string, session?: Credentials) {
    this.url = url;
    for (const pair of `${session?.cookie ?? ""}`.split("; ").filter(Boolean)) this.#keep(pair);
  }

  #keep(cookie: string): void {
    const [pair = ""] = cookie.split(";");
    const at = pair.indexOf("=");
    this.#cookies.set(pair.slice(0, at), pair.slice(at + 1));
  }

  async fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const headers = { cookie, ...Object.fromEntries(new Headers(init.headers)) };
    const answer = await fetch(new URL(path, this.url), { redirect: "manual", ...init, headers });
    for (const kept of answer.headers.getSetCookie()) this.#keep(kept);
    return answer;
  }

  /** Goes to the authorization endpoint, and returns where it leads. */
  async authorize({ clientId, redirectUri, resource, scope, state, challenge, extra }: Asked): Promise<Response> {
    const query = new URLSearchParams({
      response_type: "code",
      client_id: clientId,
      redirect_uri: redirectUri,
      ...(resource !== undefined && { resource }),
      ...(scope !== undefined && { scope }),
      ...(state !== undefined && { state }),
      ...(challenge !== undefined && { code_challenge: challenge, code_challenge_method: "S256" }),
      ...extra,
    });
    return this.fetch(`/oauth/authorize?${query}`);
  }

  /** Decides at the consent that an answer of `authorize` leads to, and returns where the browser ends: at the app. */
  async decide(begun: Response, decision: object): Promise<URL> {
    const consent = begun.headers.get("location") ?? "";
    expect(consent, consent === "" ? await begun.text() : consent).toContain("/oauth/consent/");
    const answer = await this.fetch(consent, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json", origin: this.url },
      body: JSON.stringify(decision),
    });
    const body = (await answer.json()) as { location: string };
    expect(answer.status, JSON.stringify(body)).toBe(200);
    const end = await this.fetch(body.location);
    return new URL(end.headers.get("location") ?? "nowhere:");
  }
}

export const harmless = { decision: "allow", spendLimitCents: 0, askAboveCents: 0, endsAfterDays: 90 };

// biome-ignore lint/suspicious/noExplicitAny: a test reads whatever came back
export type TokenAnswer = { status: number; body: any; headers: Headers };

export async function postForm(url: string, path: string, form: Record<string, string>): Promise<TokenAnswer> {
  const answer = await fetch(new URL(path, url), { method: "POST", body: new URLSearchParams(form) });
  const text = await answer.text();
  return { status: answer.status, body: text === "" ? null : JSON.parse(text), headers: answer.headers };
}

export interface Connected {
  accessToken: string;
  refreshToken: string;
  body: TokenAnswer["body"];
}

/** Connects an app from nothing to tokens, with the consent's defaults unless `decision` says otherwise. */
export async function connectApp(
  browser: Browser,
  asked: Asked,
  decision: object = harmless,
): Promise<Connected & { code: string; verifier: string }> {
  const verifier = verifierOf();
  const begun = await browser.authorize({ ...asked, challenge: challengeOf(verifier) });
  const end = await browser.decide(begun, decision);
  const code = end.searchParams.get("code") ?? "";
  expect(code, end.href).not.toBe("");
  const { status, body } = await redeem(browser.url, asked, { code, verifier });
  expect(status, JSON.stringify(body)).toBe(200);
  return { accessToken: body.access_token, refreshToken: body.refresh_token, body, code, verifier };
}

export const redeem = (
  url: string,
  { clientId, redirectUri, resource }: Asked,
  { code, verifier }: { code: string; verifier: string },
) =>
  postForm(url, "/oauth/token", {
    ...{
      grant_type: "authorization_code",
      client_id: clientId,
      redirect_uri: redirectUri,
      code,
      code_verifier: verifier,
    },
    ...(resource !== undefined && { resource }),
  });

export const refresh = (url: string, clientId: string, refreshToken: string, more: Record<string, string> = {}) =>
  postForm(url, "/oauth/token", {
    ...{ grant_type: "refresh_token", client_id: clientId, refresh_token: refreshToken },
    ...more,
  });

export const bearer = (token: string): Credentials => ({ authorization: `Bearer ${token}` });
