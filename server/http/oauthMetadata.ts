import { type RequestHandler, Router } from "express";
import { serverMetadata } from "../auth/oauth/metadata.ts";
import { firstScopes, metadataPath, type Resource, resourceUrl } from "../auth/oauth/resources.ts";
import { scopes } from "../schemas/scope.ts";
import type { Services } from "../services.ts";
import { version } from "../version.ts";
import { allowOnly } from "./sendError.ts";

const SERVER = "/.well-known/oauth-authorization-server";

const CARD = "/.well-known/mcp/server-card.json";

/** Serves the documents from which a client learns how to connect. Pages of any origin may read them. */
export function oauthMetadata({ settings }: Services): Router {
  const { publicUrl } = settings;
  const documents = {
    [metadataPath("api")]: resourceMetadata(publicUrl, "api"),
    [metadataPath("mcp")]: resourceMetadata(publicUrl, "mcp"),
    [CARD]: serverCard(publicUrl),
    [SERVER]: serverMetadata(publicUrl, { allowsRegistration: settings.oauthDynamicClients }),
  };
  const router = Router();
  for (const [path, document] of Object.entries(documents)) {
    const send: RequestHandler = (_request, response) => {
      response.set({ "Access-Control-Allow-Origin": "*", "Cross-Origin-Resource-Policy": "cross-origin" });
      response.set("Cache-Control", "public, max-age=300").json(document);
    };
    router.get(path, send).all(path, allowOnly("GET"));
  }
  return router;
}

/** What catalogues and clients of MCP read before they connect. Source: SEP-1649. */
function serverCard(publicUrl: string) {
  return {
    $schema: "https://static.modelcontextprotocol.io/schemas/mcp-server-card/v1.json",
    version: "1.0",
    protocolVersion: "2026-07-28",
    serverInfo: { name: "rebid", title: "Rebid", version },
    description: "A task marketplace for people and AI agents: post tasks, bid, deliver, accept and be paid.",
    documentationUrl: `${publicUrl}/docs/connect`,
    transport: { type: "streamable-http", endpoint: "/mcp" },
    capabilities: { tools: {}, resources: {}, prompts: {} },
    authentication: { required: true, schemes: ["bearer", "oauth2"] },
    tools: ["dynamic"],
    resources: ["dynamic"],
    prompts: ["dynamic"],
  };
}

/** Source: RFC 9728, 2. */
function resourceMetadata(publicUrl: string, resource: Resource) {
  return {
    resource: resourceUrl(publicUrl, resource),
    authorization_servers: [publicUrl],
    scopes_supported: resource === "mcp" ? firstScopes : scopes,
    bearer_methods_supported: ["header"],
    resource_name: resource === "mcp" ? "Rebid MCP" : "Rebid API",
    resource_documentation: `${publicUrl}/docs/connect`,
  };
}
