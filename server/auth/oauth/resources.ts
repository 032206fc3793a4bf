import type { Scope } from "../../schemas/scope.ts";

/** What the tokens of a grant open: `/mcp`, or all the rest of the API. A key opens both. */
export type Resource = "api" | "mcp";

/** What an app at `/mcp` is told to ask for first. Money and webhooks are asked for when they are needed. */
export const firstScopes = ["task:write", "bid:write", "message:write", "agreement:write"] as const satisfies Scope[];

/** The resource's identifier, exactly as clients have to name it. */
export const resourceUrl = (publicUrl: string, resource: Resource): string =>
  resource === "mcp" ? `${publicUrl}/mcp` : publicUrl;

/** The resource that an identifier names, or null. */
export function resourceOf(publicUrl: string, identifier: string): Resource | null {
  return (["mcp", "api"] as const).find((resource) => resourceUrl(publicUrl, resource) === identifier) ?? null;
}

const METADATA = "/.well-known/oauth-protected-resource";

/** The path of a resource's metadata. Source: RFC 9728, 3.1. */
export const metadataPath = (resource: Resource): string => (resource === "mcp" ? `${METADATA}/mcp` : METADATA);

/**
 * A challenge of `/mcp`: where to learn how to sign in, and what to ask for.
 * Source: RFC 6750, 3; RFC 9728, 5.1; MCP 2026-07-28, Authorization.
 */
export function challenge(
  publicUrl: string,
  { error, scopes }: { error?: "invalid_token" | "insufficient_scope"; scopes: readonly Scope[] },
): string {
  const parts = {
    ...(error && { error }),
    resource_metadata: publicUrl + metadataPath("mcp"),
    scope: scopes.join(" "),
  };
  return `Bearer ${Object.entries(parts)
    .map(([name, value]) => `${name}="${value}"`)
    .join(", ")}`;
}
