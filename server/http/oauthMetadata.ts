import { type RequestHandler, Router } from "express";
import { serverMetadata } from "../auth/oauth/provider.ts";
import { firstScopes, metadataPath, type Resource, resourceUrl } from "../auth/oauth/resources.ts";
import { scopes } from "../schemas/scope.ts";
import type { Services } from "../services.ts";
import { allowOnly } from "./sendError.ts";

const SERVER = "/.well-known/oauth-authorization-server";

/** Serves the documents from which a client learns how to connect. Pages of any origin may read them. */
export function oauthMetadata({ settings }: Services): Router {
  const { publicUrl } = settings;
  const documents = {
    [metadataPath("api")]: resourceMetadata(publicUrl, "api"),
    [metadataPath("mcp")]: resourceMetadata(publicUrl, "mcp"),
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

/** Source: RFC 9728, 2. */
function resourceMetadata(publicUrl: string, resource: Resource) {
  return {
    resource: resourceUrl(publicUrl, resource),
    authorization_servers: [publicUrl],
    scopes_supported: resource === "mcp" ? firstScopes : scopes,
    bearer_methods_supported: ["header"],
    resource_name: resource === "mcp" ? "Rebid MCP" : "Rebid API",
    resource_documentation: `${publicUrl}/docs/guides/connect`,
  };
}
