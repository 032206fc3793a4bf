import { randomUUID } from "node:crypto";
import type { RequestHandler } from "express";
import { ZodError } from "zod";
import { readClient } from "../auth/oauth/clients.ts";
import { Records } from "../auth/oauth/records.ts";
import { findUnacceptable } from "../schemas/inputBounds.ts";
import type { InputIssue } from "../schemas/inputIssue.ts";
import type { Services } from "../services.ts";
import { sendJson } from "./answer.ts";
import { parseJson, readJsonText } from "./body.ts";

/** As long as a grant can last. */
const KEPT_SECONDS = 365 * 86_400;

/**
 * Registers a client (RFC 7591). It gets no secret: whatever it asked for, its answer says `none`, which the standard allows,
 * because everybody may register and a secret would prove nothing.
 */
export function registerClient(services: Services): RequestHandler {
  const clients = new Records("Client", { ...services, publicUrl: services.settings.publicUrl });
  return async (request, response) => {
    const given = parseJson((await readJsonText(request, response)) ?? "", "The body");
    const refuse = (error: string, { path, message }: InputIssue) =>
      sendJson(response, { status: 400, body: JSON.stringify({ error, error_description: `${path}: ${message}` }) });
    const [unacceptable] = findUnacceptable(given);
    if (unacceptable) return refuse("invalid_client_metadata", unacceptable);
    try {
      const clientId = randomUUID();
      const asked = { ...Object(given), token_endpoint_auth_method: "none", client_secret: undefined };
      const { application_type: _, ...client } = readClient(clientId, asked);
      await clients.upsert(clientId, { ...client, application_type: "native" }, KEPT_SECONDS);
      const issuedAt = Math.floor(services.clock.now().getTime() / 1000);
      sendJson(response, { status: 201, body: JSON.stringify({ ...client, client_id_issued_at: issuedAt }) });
    } catch (error) {
      if (!(error instanceof ZodError)) throw error;
      const [issue] = error.issues;
      const code = issue?.path[0] === "redirect_uris" ? "invalid_redirect_uri" : "invalid_client_metadata";
      refuse(code, { path: issue?.path.join(".") ?? "", message: issue?.message ?? "" });
    }
  };
}
