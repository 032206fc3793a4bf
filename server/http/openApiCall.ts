import { EventEmitter } from "node:events";
import type { Request, Response } from "express";
import { createOpenApiNodeHttpHandler } from "trpc-to-openapi";
import type { AppRouter } from "../procedures/router.ts";
import type { Services } from "../services.ts";
import { forbidCoercion } from "./coercion.ts";
import { createContext } from "./context.ts";
import { asOpenApiRouter, type Route } from "./routes.ts";

/** What trpc-to-openapi gets to see of a request: what the fence has made of it. */
class CallRequest extends EventEmitter {
  /** The real one. */
  readonly request: Request;
  readonly method: string;
  readonly url: string;
  // An action without a body needs no content type, but the library would answer 415.
  readonly headers = { host: "localhost", "content-type": "application/json" };
  readonly body: object | null;
  readonly query: Record<string, unknown[]>;

  constructor(request: Request, route: Route, path: string, fields: object) {
    super();
    this.request = request;
    this.method = route.method;
    this.url = path;
    this.body = route.takesBody ? Object.assign(Object.create(unserialised), fields) : null;
    // In lists of one, because the library drops a bare "" or 0.
    this.query = Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, [value]]));
  }
}

/**
 * The library serialises the body once more, for a fetch Request of which it only uses the abort signal. That would cost
 * as much as the call, and overflow the stack for a body that is nested deep enough.
 */
const unserialised = { toJSON: () => null };

/** Takes what the library wants to send, so that status and errors are ours. */
class CallResponse extends EventEmitter {
  readonly response: Response;
  statusCode = 200;
  body: string | undefined;

  constructor(response: Response) {
    super();
    this.response = response;
  }

  setHeader(): void {}

  end(body?: string): void {
    this.body = body;
  }
}

type Handler = ReturnType<typeof createOpenApiNodeHttpHandler>;

/**
 * Calls procedures through trpc-to-openapi, behind the fence in rest.ts. `fields` is what body or query hold, already
 * typed; the fields of the path are the library's part. Gives the JSON of the output, undefined for a procedure without
 * one, and throws what the procedure threw.
 */
export function openApiCaller(router: AppRouter, services: Services) {
  forbidCoercion(router);
  const failures = new WeakMap<object, Error>();
  const handler = createOpenApiNodeHttpHandler({
    router: asOpenApiRouter(router),
    // The two casts, here and below: the library types Node's own classes, and uses of them what ours have.
    createContext: ({ req, res }) => {
      const { request } = req as unknown as CallRequest;
      const { response } = res as unknown as CallResponse;
      return createContext(services, request, response);
    },
    onError: ({ error, req }) => {
      failures.set(req, error);
    },
  });

  return async (request: Request, response: Response, route: Route, path: string, fields: object) => {
    const call = new CallRequest(request, route, path, fields);
    const answer = new CallResponse(response);
    await handler(call as unknown as Parameters<Handler>[0], answer as unknown as Parameters<Handler>[1]);
    const failure = failures.get(call);
    if (failure !== undefined) throw failure;
    return answer.body;
  };
}
