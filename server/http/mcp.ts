import { type Request, type RequestHandler, type Response, Router } from "express";
import { challenge, firstScopes } from "../auth/oauth/resources.ts";
import { isAppOrigin, isKeyOrigin } from "../auth/origins.ts";
import type { Principal } from "../auth/principal.ts";
import { ApiError } from "../errors.ts";
import type { McpContext } from "../mcp/runTool.ts";
import { openMcp } from "../mcp/serve.ts";
import { isTool, missingScopes } from "../mcp/server.ts";
import { currentRequestId } from "../requestId.ts";
import type { Services } from "../services.ts";
import type { Context } from "../trpc.ts";
import { answer, clientOf, sendJson } from "./answer.ts";
import { invalidBody, parseJson, readJsonText } from "./body.ts";

/** The headers that the protocol reads. */
const protocolHeaders = ["mcp-protocol-version", "mcp-method", "mcp-name"] as const;

/**
 * Serves the Model Context Protocol: one message a request, with an API key or an access token. A request passes what all others pass: the load,
 * its origin, authentication, the bounds of bodies, and the rate limits.
 */
export function mcpApi(services: Services): Router {
  const serve = openMcp(services.settings);

  const handle: RequestHandler = async (request, response) => {
    response.locals.operation = "mcp";
    if (request.method !== "POST") {
      response.set("Allow", "POST");
      throw new ApiError("method_not_allowed");
    }
    refuseForeignPage(services, request, response);
    // A session cookie does not authenticate here.
    if (request.headers.authorization === undefined) throw unauthenticated(services, request, response);
    const run = async (context: Context) => {
      const { principal, requestId } = context;
      if (principal === null) throw unauthenticated(services, request, response);
      refuseHeaders(request);
      const message = await readMessage(request, response);
      const { method, params } = message;
      if (method === "tools/call" && isTool(params?.name)) {
        response.locals.operation = `mcp.${params.name}`;
        assertScopes(services, principal, params.name, response);
      }
      const caller: McpContext = { ...context, principal, userId: principal.userId };
      const served = await serve(caller, requestOf(request, response), message);
      const { status } = served;
      if (status >= 500) services.log.error({ requestId, status, method }, "a message could not be served");
      return { status, body: await served.text() };
    };
    await answer({ services, request, response }, run, (served) => sendJson(response, served));
  };

  return Router().all("/", handle);
}

/**
 * Refuses pages of origins that the operator has not listed. The request's own host is not one of them, as elsewhere: under
 * DNS rebinding, a foreign page's origin is the host that it talks to.
 */
function refuseForeignPage(services: Services, request: Request, response: Response): void {
  const { origin } = request.headers;
  const { settings } = services;
  if (origin === undefined || origin === new URL(settings.publicUrl).origin) return;
  if (isAppOrigin(origin, settings) || isKeyOrigin(origin, settings)) return;
  const error = new ApiError("forbidden", { message: "Pages of this origin may not call the service." });
  throw denied(services, request, response, error);
}

function unauthenticated(services: Services, request: Request, response: Response): ApiError {
  const error = request.headers.authorization === undefined ? {} : { error: "invalid_token" as const };
  response.set("WWW-Authenticate", challenge(services.settings.publicUrl, { ...error, scopes: firstScopes }));
  const message = "Connect with OAuth, or send a valid API key: `Authorization: Bearer rb_live_…`.";
  return denied(services, request, response, new ApiError("unauthenticated", { message }));
}

/**
 * A connected app can ask for more: it is told so by the protocol, with all scopes that it has and needs. A tool that only a
 * person's session may use is refused by the tool itself, as for a key.
 */
function assertScopes({ settings }: Services, principal: Principal, tool: string, response: Response): void {
  if (principal.kind !== "apiKey" || !principal.isGrant) return;
  const [missing, ...others] = missingScopes(principal, tool);
  if (missing === undefined) return;
  const scopes = [...principal.scopes, missing, ...others];
  response.set("WWW-Authenticate", challenge(settings.publicUrl, { error: "insufficient_scope", scopes }));
  throw new ApiError("missing_scope", { requiredScope: missing });
}

/** Records a refusal before any procedure, which would record its own. */
function denied({ securityLog }: Services, request: Request, response: Response, error: ApiError): ApiError {
  const actor = { principal: null, client: clientOf(request, response), requestId: currentRequestId() };
  securityLog.refuse(actor, "access.denied", { code: error.code, door: "mcp" });
  return error;
}

/** What these headers ask for is said with arguments here, and must not be ignored. */
function refuseHeaders(request: Request): void {
  const issues = [
    ["Dry-Run", "Tools that move money show a preview first; the others cannot be tried."],
    ["Idempotency-Key", "Send the argument `idempotencyKey`, or the `confirm` of a preview."],
  ].flatMap(([path = "", message = ""]) => (request.get(path) === undefined ? [] : [{ path, message }]));
  if (issues.length > 0) throw new ApiError("invalid_input", { issues });
}

interface Message {
  method?: unknown;
  params?: { name?: unknown };
}

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Reads one message. The protocol itself checks the rest of it. */
async function readMessage(request: Request, response: Response): Promise<Message> {
  const message = parseJson((await readJsonText(request, response)) ?? "", "The body");
  if (!isObject(message)) throw invalidBody("Send one JSON-RPC message in each request.");
  return {
    ...message,
    ...("params" in message && isObject(message.params) && { params: message.params }),
  };
}

/** The request as the protocol sees it. Clients need not say what they accept: every answer is JSON. */
function requestOf(request: Request, response: Response): globalThis.Request {
  const headers = new Headers({ "content-type": "application/json", accept: "application/json, text/event-stream" });
  for (const name of protocolHeaders) {
    const value = request.get(name);
    if (value !== undefined) headers.set(name, value);
  }
  const left = new AbortController();
  response.once("close", () => left.abort());
  return new Request("http://localhost/mcp", { method: "POST", headers, signal: left.signal });
}
