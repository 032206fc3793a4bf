import { TRPCError } from "@trpc/server";
import express, { type ErrorRequestHandler, type Express } from "express";
import type { Config } from "./config.ts";
import { ApiError, toApiError } from "./errors.ts";
import { answerError } from "./http/answer.ts";
import { documentation } from "./http/documentation.ts";
import { metrics } from "./http/metrics.ts";
import { oneHost } from "./http/oneHost.ts";
import { pages } from "./http/pages.ts";
import { probes } from "./http/probes.ts";
import { processorEvents } from "./http/processorEvents.ts";
import { requestId } from "./http/requestId.ts";
import { restApi } from "./http/rest.ts";
import { rpcApi } from "./http/rpc.ts";
import { webhookDocs } from "./http/webhookDocs/page.ts";
import { appRouter } from "./router.ts";
import type { Services } from "./services.ts";

/** The whole HTTP side, wired in the order in which a request meets it. */
export function createApp(services: Services, config: Pick<Config, "trustProxy">): Express {
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.set("trust proxy", config.trustProxy);
  app.set("query parser", "simple");

  app.use(requestId);
  app.use(oneHost);
  app.use((_request, response, next) => {
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
  app.use((_request, response) => answerError(response, new ApiError("not_found")));
  app.use(answerUnexpected(services));
  return app;
}

/** Whatever was thrown becomes a documented answer, and never a page or a stack. */
function answerUnexpected({ log }: Services): ErrorRequestHandler {
  return (thrown: unknown, _request, response, _next) => {
    const error = toApiError(thrown);
    // What a procedure threw has been logged there, with the procedure's name.
    const isLogged = thrown instanceof TRPCError && thrown.cause instanceof ApiError;
    if (error.status >= 500 && !isLogged) {
      log.error({ requestId: response.get("X-Request-Id"), error: thrown }, error.code);
    }
    if (response.headersSent) response.destroy();
    else answerError(response, error);
  };
}
