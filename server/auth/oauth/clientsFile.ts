import { readFileSync } from "node:fs";
import { z } from "zod";
import { ConfigError } from "../../config.ts";
import { type ClientMetadata, DEVICE_GRANT, readClient } from "./clients.ts";

const Entries = z.array(z.looseObject({ client_id: z.string().min(1).max(200) })).max(1_000);

/** The command `npx @rebid/mcp login`, which every service knows. */
const ownCommand = readClient("rebid-mcp", { grant_types: [DEVICE_GRANT, "refresh_token"] });

/** Reads the clients of `OAUTH_CLIENTS`: a JSON list of RFC 7591 metadata with `client_id`. Throws ConfigError. */
export function loadClients(file: string | null): readonly ClientMetadata[] {
  if (file === null) return [ownCommand];
  try {
    const clients = Entries.parse(JSON.parse(readFileSync(file, "utf8"))).map((entry) => {
      if (entry.client_id === ownCommand.client_id) throw new Error(`${entry.client_id} is the service's own.`);
      const client = readClient(entry.client_id, entry);
      const needsSecret = client.token_endpoint_auth_method !== "none";
      if (needsSecret !== (client.client_secret !== undefined)) {
        throw new Error(`${entry.client_id}: client_secret belongs to client_secret_basic and client_secret_post.`);
      }
      if (client.client_id.startsWith("https:"))
        throw new Error(`${entry.client_id}: an address has its own document.`);
      return client;
    });
    if (new Set(clients.map(({ client_id: id }) => id)).size < clients.length) throw new Error("a client_id is twice.");
    return [ownCommand, ...clients];
  } catch (error) {
    const reason =
      error instanceof z.ZodError ? z.prettifyError(error) : error instanceof Error ? error.message : error;
    throw new ConfigError(`OAUTH_CLIENTS must name a JSON file with a list of clients. ${reason}`);
  }
}
