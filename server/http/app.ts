import type { RequestListener } from "node:http";
import { TRPCError } from "@trpc/server";
import express, { type ErrorRequestHandler } from "express";
import type { Config } from "../config.ts";
import { ApiError } from "../errors.ts";
import { appRouter } from "../procedures/router.ts";
import { requestId } from "../requestId.ts";
import type { Services } from "../services.ts";
import { toApiError } from "../translateErrors.ts";
import { documentation } from "./documentation.ts";
import { metrics } from "./metrics.ts";
import { oneHost } from "./oneHost.ts";
import { pages } from "./pages.ts";
import { probes } from "./probes.ts";
import { processorEvents } from "./processorEvents.ts";
import { restApi } from "./rest.ts";
import { rpcApi } from "./rpc.ts";
import { sendError } from "./sendError.ts";
import { webhookDocs } from "./webhookDocs/page.ts";

/** Creates the application. A request passes through its parts in this order. */
export function createApp(services: Services, config: Pick<Config, "trustProxy">): RequestListener {
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.set("trust proxy", config.trustProxy);
  app.set("query parser", "simple");

  app.use(requestId);
  app.use(oneHost);
  app.use((request, response, next) => {
    // No response has a validator, but Express would answer `If-None-Match: *` with an empty 304.
    delete request.headers["if-none-match"];
    response.set({ "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store" });
    next();
  });
  app.use(metrics(services));
  app.use(probes(services));
  app.use(processorEvents(services));
  app.use("/trpc", rpcApi(appRouter, services));
  app.use(restApi(appRouter, services));
  app.use(documentation(appRouter, services));
  app.use(webhookDocs());
  app.use(pages());
  app.use((_request, response) => sendError(response, new ApiError("not_found")));
  app.use(handleError(services));
  return (request, response) => {
    // Express itself would answer a broken absolute target, such as `http://`, with an HTML page. "//" is no path of ours.
    const { url = "" } = request;
    if (/^https?:/i.test(url) && !URL.canParse(url)) request.url = "//";
    app(request, response);
  };
}

/** Turns whatever was thrown into a documented error, so that no client ever sees an HTML page or a stack trace. */
function handleError({ log }: Services): ErrorRequestHandler {
  return (thrown: unknown, _request, response, _next) => {
    const error = toApiError(thrown);
    // Errors of procedures have been logged already, with the procedure's name.
    const isLogged = thrown instanceof TRPCError && thrown.cause instanceof ApiError;
    if (error.status >= 500 && !isLogged) {
      log.error({ requestId: response.get("X-Request-Id"), error: thrown }, error.code);
    }
    if (response.headersSent) response.destroy();
    else sendError(response, error);
  };
}
