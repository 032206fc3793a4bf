import { z } from "zod";

/** Client metadata as the library for OAuth takes it. Source: RFC 7591, 2. */
export type ClientMetadata = z.infer<typeof Metadata> & { client_id: string; application_type: "native" };

const MAX_REDIRECTS = 20;
/** Schemes of browsers' own: what they open is no app. */
const forbiddenScheme = /^(about|blob|data|file|filesystem|ftp|javascript|vbscript|view-source|wss?):$/;
const loopback = /^(localhost|127\.0\.0\.1|\[::1\])$/;

/** Where an app may take its code: an https page, a program on the same machine, or an app's own scheme. */
const redirectUri = z
  .string()
  .max(2_048)
  .refine((text) => {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    if (!URL.canParse(text) || /[#\\\s\x00-\x1f\x7f]/.test(text)) return false;
    const { protocol, hostname, username, password } = new URL(text);
    if (username !== "" || password !== "") return false;
    if (protocol === "https:") return !loopback.test(hostname);
    return protocol === "http:" ? loopback.test(hostname) : !forbiddenScheme.test(protocol);
  }, "must be https, http on a loopback address, or an app's own scheme, without a fragment");

const Metadata = z.object({
  client_name: z.string().max(200).optional(),
  client_uri: z.string().max(2_048).optional(),
  redirect_uris: z.array(redirectUri).max(MAX_REDIRECTS).default([]),
  grant_types: z
    .array(z.string().max(100))
    .max(10)
    .default(["authorization_code", "refresh_token"])
    .transform((types) => types.filter((type) => grantTypes.includes(type))),
  response_types: z
    .array(z.string())
    .optional()
    .transform(() => undefined),
  token_endpoint_auth_method: z.enum(["none", "client_secret_basic", "client_secret_post"]).default("none"),
  client_secret: z.string().min(32).max(512).optional(),
});

export const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";
const grantTypes: readonly string[] = ["authorization_code", "refresh_token", DEVICE_GRANT];

/**
 * Reads a client's metadata, from a document, a file or a registration. What the service does not use is left out. Throws a
 * ZodError. Every client counts as native, for which the library lets the port of a loopback redirect differ; what web clients
 * may redirect to is checked here.
 */
export function readClient(clientId: string, given: unknown): ClientMetadata {
  const { grant_types, redirect_uris, ...metadata } = Metadata.parse(given);
  const usesCodes = redirect_uris.length > 0 && grant_types.includes("authorization_code");
  const { response_types: _, ...kept } = JSON.parse(JSON.stringify(metadata));
  return {
    ...kept,
    client_id: clientId,
    application_type: "native",
    redirect_uris,
    grant_types: usesCodes ? grant_types : grant_types.filter((type) => type !== "authorization_code"),
    response_types: usesCodes ? ["code"] : [],
  };
}

/** A client as people see it. */
export interface ShownClient {
  id: string;
  name: string;
  domain: string;
}

/**
 * How a client is shown. Its domain is that of its document, which it has proved to control; otherwise, that to which it leads
 * people back. The name is what it calls itself, unless that could be taken for this service, or is no name.
 */
export function shownClient(
  { clientId, clientName }: { clientId: string; clientName?: string | undefined },
  redirectTo: string | undefined,
): ShownClient {
  const domain = hostOf(clientId.startsWith("https:") ? clientId : (redirectTo ?? ""));
  const name = cleanName(clientName ?? "");
  return { id: clientId, name: name === "" || isDeceptive(name) ? domain || clientId.slice(0, 80) : name, domain };
}

/** The host that a redirect leads to; for an app's own scheme, the scheme. */
export function hostOf(url: string): string {
  if (!URL.canParse(url)) return "";
  const { protocol, host } = new URL(url);
  return /^https?:$/.test(protocol) ? host : protocol;
}

/** A name in one line, without what is not seen. */
export const cleanName = (name: string) =>
  [
    ...name
      .normalize("NFKC")
      .replace(/[\p{C}\p{Z}]+/gu, " ")
      .trim(),
  ]
    .slice(0, 80)
    .join("");

/** Scripts whose words stand beside Latin ones in honest names. */
const besideLatin =
  /[\p{Script=Latin}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Common}]/u;

/** Whether a name looks like the service's own, or mixes scripts, as names that look like others' do. */
function isDeceptive(name: string): boolean {
  const letters = name.normalize("NFKD").replace(/[^\p{L}\p{N}|!]/gu, "");
  const isMixed = /\p{Script=Latin}/u.test(letters) && [...letters].some((letter) => !besideLatin.test(letter));
  return isMixed || /[rʀ][e3ᴇ][b8ʙ][i1l|!ɪı][dᴅ]/iu.test(letters);
}
