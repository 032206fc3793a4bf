import { type Request, type RequestHandler, type Response, Router } from "express";
import type Provider from "oidc-provider";
import { shownClient } from "../auth/oauth/clients.ts";
import { type AskedGrant, allow, assertSession, Decision, describeConsent } from "../auth/oauth/consent.ts";
import { decideForDevice, findDevice } from "../auth/oauth/devices.ts";
import { paths } from "../auth/oauth/metadata.ts";
import { askedScopes, openAuthorizationServer } from "../auth/oauth/provider.ts";
import { resourceOf } from "../auth/oauth/resources.ts";
import { ApiError } from "../errors.ts";
import type { RateGroup } from "../limits/policies.ts";
import type { Services } from "../services.ts";
import type { Context } from "../trpc.ts";
import { answer, clientOf, createLimits, sendJson } from "./answer.ts";
import { parseJson, readJsonText } from "./body.ts";
import { oauthErrorPage } from "./oauthErrorPage.ts";
import { registerClient } from "./oauthRegistration.ts";
import { allowOnly } from "./sendError.ts";

/** Serves the endpoints of OAuth 2.1. The library answers those of the protocol; the consent page's are the service's own. */
export function oauthApi(services: Services): Router {
  const provider = openAuthorizationServer({
    ...services,
    ...services.settings,
    clients: services.oauthClients,
    showError: oauthErrorPage,
  });
  const protocol = provider.callback();
  const pass: RequestHandler = (request, response) => protocol(request, response);
  const router = Router();
  if (services.settings.oauthDynamicClients) {
    router
      .post(paths.registration, counted(services, "token"), registerClient(services))
      .all(paths.registration, allowOnly("POST"));
  }
  return router
    .get([paths.authorization, `${paths.authorization}/:uid`], counted(services, "read"), pass)
    .all([paths.authorization, `${paths.authorization}/:uid`], allowOnly("GET"))
    .post([paths.token, paths.device_authorization], counted(services, "token"), pass)
    .post(paths.revocation, counted(services, "write"), pass)
    .all([paths.token, paths.device_authorization, paths.revocation], allowOnly("POST"))
    .get("/oauth/consent/:uid", showConsent(services, provider))
    .post("/oauth/consent/:uid", decide(services, provider))
    .all("/oauth/consent/:uid", allowOnly("GET", "POST"))
    .get("/oauth/devices/:userCode", showDevice(services, provider))
    .post("/oauth/devices/:userCode", decideDevice(services, provider))
    .all("/oauth/devices/:userCode", allowOnly("GET", "POST"));
}

/** The endpoints of the protocol have no user: they count against the address. */
function counted(services: Services, group: RateGroup): RequestHandler {
  return async (request, response, next) => {
    const { address } = clientOf(request, response);
    await createLimits(services, request, response, { address, principal: null }).count({ group });
    next();
  };
}

interface Consent {
  asked: AskedGrant;
  /** Records what the person decided, and returns where their browser goes on. */
  finish(result: object): Promise<string>;
}

/** The consent that this browser has begun. Its cookie says so: nobody consents to what another browser has asked. */
async function findConsent(
  { settings }: Services,
  provider: Provider,
  request: Request,
  response: Response,
): Promise<Consent> {
  const gone = () => new ApiError("not_found", { message: "This consent has ended. Begin again in the app." });
  const interaction = await provider.interactionDetails(request, response).catch(() => null);
  if (interaction === null || interaction.uid !== request.params.uid) throw gone();
  const { client_id: clientId, redirect_uri: redirectUri, resource, scope } = interaction.params;
  const client = await provider.Client.find(`${clientId}`);
  const known = resourceOf(settings.publicUrl, `${resource}`);
  if (client === undefined || known === null || typeof redirectUri !== "string") throw gone();
  const asked = {
    client: shownClient({ clientId: client.clientId, clientName: client.clientName }, redirectUri),
    resource: known,
    scopes: askedScopes(scope),
    redirectUri,
  };
  return { asked, finish: (result) => provider.interactionResult(request, response, { ...result }) };
}

/** Leads a browser to the page, and tells the page what is asked. */
function showConsent(services: Services, provider: Provider): RequestHandler {
  return async (request, response) => {
    if (request.accepts("json", "html") === "html") {
      return response.redirect(303, `/app/connect/${encodeURIComponent(`${request.params.uid}`)}`);
    }
    const run = async (context: Context) => {
      assertSession(context);
      const { asked } = await findConsent(services, provider, request, response);
      return JSON.stringify(describeConsent(asked));
    };
    await answer({ services, request, response }, run, (body) => sendJson(response, { body }));
  };
}

function decide(services: Services, provider: Provider): RequestHandler {
  return async (request, response) => {
    const run = async (context: Context) => {
      const { userId } = assertSession(context);
      const given = readDecision(parseJson((await readJsonText(request, response)) ?? "", "The body"));
      const { asked, finish } = await findConsent(services, provider, request, response);
      if (given.decision === "deny") {
        return finish({ error: "access_denied", error_description: "the person said no" });
      }
      const grantId = await allow(context, asked, given);
      return finish({ login: { accountId: userId, remember: false }, consent: { grantId } });
    };
    await answer({ services, request, response }, run, (location) =>
      sendJson(response, { body: JSON.stringify({ location }) }),
    );
  };
}

/** Tells the page what the program asks that shows this code. */
function showDevice(services: Services, provider: Provider): RequestHandler {
  return async (request, response) => {
    const run = async (context: Context) => {
      assertSession(context);
      // Nobody finds another's code by trying.
      await context.limits.count({ group: "credentials" });
      const { asked } = await findDevice(context, provider, `${request.params.userCode}`);
      return JSON.stringify(describeConsent(asked));
    };
    await answer({ services, request, response }, run, (body) => sendJson(response, { body }));
  };
}

function decideDevice(services: Services, provider: Provider): RequestHandler {
  return async (request, response) => {
    const run = async (context: Context) => {
      assertSession(context);
      await context.limits.count({ group: "credentials" });
      const given = readDecision(parseJson((await readJsonText(request, response)) ?? "", "The body"));
      await decideForDevice(context, await findDevice(context, provider, `${request.params.userCode}`), given);
    };
    await answer({ services, request, response }, run, () => sendJson(response, { body: "{}" }));
  };
}

function readDecision(sent: unknown) {
  const parsed = Decision.safeParse(sent);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map(({ path, message }) => ({ path: path.join("."), message }));
  throw new ApiError("invalid_input", { issues });
}
