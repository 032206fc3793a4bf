import { EventEmitter } from "node:events";
import type { Request, Response } from "express";
import { createOpenApiNodeHttpHandler } from "trpc-to-openapi";
import type { AppRouter } from "../procedures/router.ts";
import type { Services } from "../services.ts";
import { forbidCoercion } from "./coercion.ts";
import { createContext } from "./context.ts";
import { asOpenApiRouter, type Route } from "./routes.ts";

/** The request as trpc-to-openapi sees it, already checked and parsed by rest.ts. */
class CallRequest extends EventEmitter {
  /** The original request. */
  readonly request: Request;
  readonly method: string;
  readonly url: string;
  // An action without a body needs no content type, but the library would respond with 415.
  readonly headers = { host: "localhost", "content-type": "application/json" };
  readonly body: object | null;
  readonly query: Record<string, unknown[]>;

  constructor(request: Request, route: Route, path: string, fields: object) {
    super();
    this.request = request;
    this.method = route.method;
    this.url = path;
    this.body = route.takesBody ? Object.assign(Object.create(unserialised), fields) : null;
    // Each value in an array, because the library drops a plain "" or 0.
    this.query = Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, [value]]));
  }
}

/**
 * Prototype of bodies. The library serialises the body again, for a fetch Request of which it only uses the abort signal.
 * That would cost as much as the call itself, and overflow the stack for a deeply nested body.
 */
const unserialised = { toJSON: () => null };

/** Captures what the library wants to send, so that we decide on status and errors. */
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
 * Returns a function that calls a procedure through trpc-to-openapi. `fields` are those of the body or query, already
 * parsed; the library adds those of the path. It returns the output as JSON, or undefined for a procedure without output,
 * and throws what the procedure threw.
 */
export function openApiCaller(router: AppRouter, services: Services) {
  forbidCoercion(router);
  const failures = new WeakMap<object, Error>();
  const handler = createOpenApiNodeHttpHandler({
    router: asOpenApiRouter(router),
    // The casts here and below: the library's types require Node's own classes, but it uses only what ours have.
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
    const result = new CallResponse(response);
    await handler(call as unknown as Parameters<Handler>[0], result as unknown as Parameters<Handler>[1]);
    const failure = failures.get(call);
    if (failure !== undefined) throw failure;
    return result.body;
  };
}
