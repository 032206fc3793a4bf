import type { RequestListener } from "node:http";
import express, { type Express, type RequestHandler } from "express";
import type { Config } from "../config.ts";
import { ApiError } from "../errors.ts";
import { appRouter } from "../procedures/router.ts";
import { requestId } from "../requestId.ts";
import type { Services } from "../services.ts";
import { answerFailure, countUnserved } from "./answer.ts";
import { commonHeaders } from "./commonHeaders.ts";
import { serveConsole } from "./console.ts";
import { cors } from "./cors.ts";
import { documentation } from "./documentation.ts";
import { mailLinks } from "./mailLinks.ts";
import { createMetrics, type Metrics, type MetricsAccess, publicMetrics } from "./metrics.ts";
import { oauthMetadata } from "./oauthMetadata.ts";
import { createLoad, type OverloadLimits, shedLoad } from "./overload.ts";
import { pages } from "./pages.ts";
import { probes } from "./probes.ts";
import { processorEvents } from "./processorEvents.ts";
import { refuseAmbiguous } from "./refuseAmbiguous.ts";
import { restApi } from "./rest.ts";
import { rpcApi } from "./rpc.ts";
import { sendError } from "./sendError.ts";
import { traceRequests } from "./traceRequests.ts";

/** Where the application is; by default, on a developer's machine without a proxy. `stopping` ends its readiness. */
type Surroundings = Pick<Config, "trustProxy"> & Partial<MetricsAccess> & { stopping?: AbortSignal };

/** Creates the application. A request passes through its parts in this order. `limits` are for tests. */
export function createApp(
  services: Services,
  config: Surroundings,
  limits: Partial<OverloadLimits> = {},
  metrics: Metrics = createMetrics(services),
): RequestListener {
  const { production = false, metricsPort = null, metricsToken = null } = config;
  const load = createLoad(limits);
  metrics.watch(load);
  const app = bareApp(services, config);
  app.use(refuseAmbiguous);
  app.use(cors(services.settings));
  app.use(metrics.time);
  app.use(traceRequests);
  app.use(publicMetrics(metrics, { production, metricsPort, metricsToken }));
  app.use(probes(services, config.stopping));
  app.use(shedLoad(load));
  app.use(processorEvents(services));
  app.use(mailLinks(services));
  app.use(oauthMetadata(services));
  const oauth = onFirstUse(async () => (await import("./oauth.ts")).oauthApi(services));
  app.use((request, response, next) => (request.path.startsWith("/oauth/") ? oauth(request, response, next) : next()));
  app.use("/trpc", rpcApi(appRouter, services));
  app.use(
    "/mcp",
    onFirstUse(async () => (await import("./mcp.ts")).mcpApi(services)),
  );
  app.use(restApi(appRouter, services));
  app.use(documentation(appRouter, services));
  app.use(serveConsole(services));
  app.use(pages());
  app.use(async (request, response) => {
    const refusal = await countUnserved(services, request, response);
    sendError(response, refusal ?? new ApiError("not_found"));
  });
  app.use(answerFailure(services));
  return (request, response) => {
    // Express itself would answer a broken absolute target, such as `http://`, with an HTML page. "//" is no path of ours.
    const { url = "" } = request;
    if (/^https?:/i.test(url) && !URL.canParse(url)) request.url = "//";
    app(request, response);
  };
}

/** A door whose packages are loaded by its first request, and not by the start. */
function onFirstUse(load: () => Promise<RequestHandler>): RequestHandler {
  let handler: Promise<RequestHandler> | undefined;
  return async (request, response, next) => {
    handler ??= load();
    return (await handler)(request, response, next);
  };
}

/** Creates the application of `METRICS_PORT`, which has `/metrics`, `/livez`, `/readyz`, and nothing else. */
export function createMetricsApp(services: Services, config: Surroundings, { page }: Metrics): RequestListener {
  const app = bareApp(services, config);
  app.use(page);
  app.use(probes(services, config.stopping));
  app.use((_request, response) => sendError(response, new ApiError("not_found")));
  app.use(answerFailure(services));
  return app;
}

/** An application whose every response has a request id and the security headers. */
function bareApp({ settings }: Services, { trustProxy }: Surroundings): Express {
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.set("trust proxy", trustProxy);
  app.set("query parser", "simple");
  const headers = Object.entries(commonHeaders(settings.publicUrl));
  app.use(requestId);
  app.use((request, response, next) => {
    // Express would answer `If-None-Match: *` with an empty 304, also where the response has no validator.
    if (request.headers["if-none-match"]?.trim() === "*") delete request.headers["if-none-match"];
    for (const [name, value] of headers) response.setHeader(name, value);
    next();
  });
  return app;
}
