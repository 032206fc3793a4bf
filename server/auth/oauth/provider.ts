import { generateKeyPairSync } from "node:crypto";
import Provider, { type Configuration, errors, type KoaContextWithOIDC } from "oidc-provider";
import type { Logger } from "pino";
import type { Clock } from "../../gateways/clock.ts";
import type { Egress } from "../../gateways/egress.ts";
import { scopes } from "../../schemas/scope.ts";
import type { Connection } from "../../store/connection.ts";
import { generateAccessToken } from "./accessTokens.ts";
import type { ClientMetadata } from "./clients.ts";
import { openDocuments } from "./documents.ts";
import { READ } from "./grants.ts";
import { paths } from "./metadata.ts";
import { Records } from "./records.ts";
import { resourceOf } from "./resources.ts";

export interface OAuthOptions {
  database: Connection;
  clock: Clock;
  egress: Egress;
  log: Logger;
  publicUrl: string;
  /** The clients that the operator has set. */
  clients: readonly ClientMetadata[];
  /** Shows a person what is wrong with a request that leads back to no app. */
  showError(context: KoaContextWithOIDC, error: { error: string; error_description?: string }): void;
}

/** Source: docs/contract.md "Connected apps". */
const CODE_SECONDS = 60;
const ACCESS_TOKEN_SECONDS = 3_600;
const DEVICE_CODE_SECONDS = 600;
const INTERACTION_SECONDS = 3_600;

/** Where a browser is led to consent, and where the page asks and answers. */
const consentPath = (uid: string): string => `/oauth/consent/${uid}`;

/** Opens the authorization server: the library does the protocol, and keeps nothing but what `Records` stores. */
export function openAuthorizationServer(options: OAuthOptions): Provider {
  const { publicUrl, log } = options;
  const provider = new Provider(publicUrl, configurationOf(options));
  // Its types do not have the method, which also says how the token is stored.
  Object.assign(provider.AccessToken.prototype, {
    generateTokenId(this: { format: string }) {
      this.format = "opaque";
      return generateAccessToken();
    },
  });
  Object.defineProperty(provider.OIDCContext.prototype, "requestParamScopes", { get: countedScopes });
  // Addresses in answers are the service's own, whatever a request's Host says.
  const { host, protocol } = new URL(publicUrl);
  Object.defineProperties(provider.request, {
    host: { get: () => host },
    protocol: { get: () => protocol.slice(0, -1) },
  });
  provider.use(async (context, next) => {
    try {
      await next();
    } catch (error) {
      log.error({ error }, "OAuth");
      context.status = 500;
      context.body = { error: "server_error" };
    }
    // The person's session is the service's; the library's would say nothing.
    const cookies = [context.res.getHeader("Set-Cookie") ?? []].flat().map(String);
    const others = cookies.filter((cookie) => !cookie.startsWith(`${SESSION_COOKIE}=`));
    if (others.length > 0) context.set("Set-Cookie", others);
    else context.remove("Set-Cookie");
  });
  provider.on("server_error", (_context, error) => log.error({ error }, "OAuth"));
  return provider;
}

/**
 * The scopes of a request that count: `offline_access` and what nobody knows do not. A refreshed token has all that was allowed,
 * whatever part of it was asked for, because a grant is one key.
 */
function countedScopes(this: { params?: { scope?: string }; entities: { RefreshToken?: { scopes: Set<string> } } }) {
  const asked = this.params?.scope?.split(" ") ?? [];
  const known = asked.filter((scope) => scope === READ || scopes.some((each) => each === scope));
  return this.entities.RefreshToken?.scopes ?? new Set(known);
}

const unusedKey = () => generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;

const SESSION_COOKIE = "rebid_oauth_session";

function configurationOf(options: OAuthOptions): Configuration {
  const { clients } = options;
  const readDocument = openDocuments(options);
  return {
    adapter: (kind: string) => new Records(kind, options),
    clients: [...clients],
    clientAuthMethods: ["none", "client_secret_basic", "client_secret_post"],
    clientDefaults: { id_token_signed_response_alg: "ES256" },
    clientBasedCORS: () => false,
    cookies: {
      names: { session: SESSION_COOKIE, interaction: "rebid_consent", resume: "rebid_consent_resume" },
      short: { httpOnly: true, sameSite: "lax" },
    },
    allowOmittingSingleRegisteredRedirectUri: false,
    expiresWithSession: () => false,
    features: featuresOf(options),
    fetch: (url) => readDocument(`${url}`),
    findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    interactions: { url: (_context, { uid }) => consentPath(uid) },
    issueRefreshToken: (_context, client) => client.grantTypeAllowed("refresh_token"),
    // The library wants a key for ID tokens. There are none, so this one signs nothing and nobody is told of it.
    jwks: { keys: [{ ...unusedKey().export({ format: "jwk" }), kty: "EC" }] },
    loadExistingGrant: async (context) => {
      const { grantId } = context.oidc.result?.consent ?? {};
      const grant = grantId === undefined ? undefined : await context.oidc.provider.Grant.find(grantId);
      // The scopes that were granted take the place of those asked for.
      const granted = grant?.resources?.[`${context.oidc.params?.resource}`];
      if (granted !== undefined && context.oidc.params) context.oidc.params.scope = granted;
      return grant;
    },
    pkce: { required: () => true },
    renderError: (context, error) => options.showError(context, error),
    responseTypes: ["code"],
    revokeGrantPolicy: () => true,
    rotateRefreshToken: true,
    routes: paths,
    // Accepted and ignored: a refresh token comes with every grant.
    scopes: ["offline_access"],
    ttl: {
      AuthorizationCode: CODE_SECONDS,
      AccessToken: ACCESS_TOKEN_SECONDS,
      DeviceCode: DEVICE_CODE_SECONDS,
      Interaction: INTERACTION_SECONDS,
      RefreshToken: ({ oidc }) => oidc.grant?.remainingTTL ?? ACCESS_TOKEN_SECONDS,
      Grant: ACCESS_TOKEN_SECONDS,
      Session: INTERACTION_SECONDS,
    },
  };
}

/** What of the library is on. */
function featuresOf({ publicUrl }: OAuthOptions): Configuration["features"] {
  return {
    devInteractions: { enabled: false },
    dPoP: { enabled: false },
    userinfo: { enabled: false },
    rpInitiatedLogout: { enabled: false },
    pushedAuthorizationRequests: { enabled: false },
    deviceFlow: { enabled: true, mask: "****-****", charset: "base-20" },
    revocation: { enabled: true },
    clientIdMetadataDocument: {
      enabled: true,
      ack: "draft-02",
      // `openDocuments` keeps them, by the service's clock.
      cacheDuration: { min: 0, max: 0 },
      allowFetch: () => true,
      allowClient: () => true,
    },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => {
        throw new errors.InvalidTarget("`resource` is missing: name the one that the token is for");
      },
      getResourceServerInfo: (_context, identifier) => {
        const resource = resourceOf(publicUrl, identifier);
        if (resource === null) throw new errors.InvalidTarget("this service has no such resource");
        return { scope: scopes.join(" "), audience: identifier, accessTokenFormat: "opaque" };
      },
      useGrantedResource: () => true,
    },
  };
}

/** Which of the scopes of keys a client asks for. */
export const askedScopes = (scope: unknown) =>
  scopes.filter((known) => typeof scope === "string" && scope.split(" ").includes(known));
