import { createExpressMiddleware } from "@trpc/server/adapters/express";
import express, { type ErrorRequestHandler, type Express } from "express";
import type { Config } from "./config.ts";
import { createContext } from "./context.ts";
import { ApiError, toApiError } from "./errors.ts";
import { answerError, errorHeaders } from "./http/answer.ts";
import { documentation } from "./http/documentation.ts";
import { pages } from "./http/pages.ts";
import { probes } from "./http/probes.ts";
import { processorEvents } from "./http/processorEvents.ts";
import { requestId } from "./http/requestId.ts";
import { MAX_BODY_BYTES, restApi } from "./http/rest.ts";
import { appRouter } from "./router.ts";
import type { Services } from "./services.ts";

const MAX_BATCH_SIZE = 20;

/** The whole HTTP side, wired in the order in which a request meets it. */
export function createApp(services: Services, config: Pick<Config, "trustProxy">): Express {
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.set("trust proxy", config.trustProxy);
  app.set("query parser", "simple");

  app.use(requestId);
  app.use((_request, response, next) => {
    response.set({ "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store" });
    next();
  });
  app.use(probes(services));
  app.use(processorEvents(services));
  app.use("/trpc", rpcApi(services));
  app.use(restApi(appRouter, services));
  app.use(documentation(appRouter, services));
  app.use(pages());
  app.use((_request, response) => answerError(response, new ApiError("not_found")));
  app.use(answerUnexpected(services));
  return app;
}

function rpcApi(services: Services) {
  return createExpressMiddleware({
    router: appRouter,
    createContext: ({ req, res }) => createContext(services, req, res),
    maxBodySize: MAX_BODY_BYTES,
    maxBatchSize: MAX_BATCH_SIZE,
    // JSON-RPC has one code for several of our statuses: a lone call answers with the very status of the REST face.
    responseMeta: ({ errors: [error], paths = [] }) => {
      if (error === undefined || paths.length > 1) return {};
      const failure = toApiError(error);
      return { status: failure.status, headers: errorHeaders(failure) };
    },
  });
}

/** The last resort: whatever was thrown outside a procedure becomes a documented answer, and never a page or a stack. */
function answerUnexpected({ log }: Services): ErrorRequestHandler {
  return (thrown: unknown, _request, response, _next) => {
    const error = toApiError(thrown);
    if (error.status >= 500) log.error({ requestId: response.get("X-Request-Id"), error: thrown }, error.code);
    if (response.headersSent) response.destroy();
    else answerError(response, error);
  };
}
