import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { createOpenApiNodeHttpHandler, type OpenApiRouter } from "trpc-to-openapi";
import type { AppRouter } from "../procedures/router.ts";
import type { Context } from "../trpc.ts";
import { forbidCoercion } from "./coercion.ts";
import { asOpenApiRouter, type Route } from "./routes.ts";

/** Requests and responses need one. Nothing is read from this one or written to it. */
const nowhere = new Socket();

/**
 * A request as trpc-to-openapi takes it, whose input rest.ts has read, checked and parsed. The library makes a fetch Request of
 * it, for a signal that it does not use: 10 to 17 µs of processor time a call (measured alone).
 */
class CallRequest extends IncomingMessage {
  readonly context: Context;
  readonly body: object | null;
  readonly query: Record<string, unknown[]>;

  constructor(context: Context, route: Route, path: string, fields: object) {
    super(nowhere);
    this.context = context;
    this.method = route.method;
    this.url = path;
    // An action without a body needs no content type, but the library would respond with 415.
    this.headers = { "content-type": "application/json" };
    this.body = route.takesBody ? fields : null;
    // Each value in an array, because the library drops a plain "" or 0.
    this.query = Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, [value]]));
  }
}

/** Keeps what the library sends, so that we decide on the status and the headers. */
class CallResponse extends ServerResponse {
  output = "";

  override end(output?: unknown): this {
    if (typeof output === "string") this.output = output;
    return this;
  }
}

/** Calls a procedure and returns its output as JSON. */
export type CallOperation = (context: Context, route: Route, path: string, fields: object) => Promise<string>;

const calls = new WeakMap<AppRouter, CallOperation>();

/**
 * Returns a function that calls a procedure through trpc-to-openapi. `fields` are those of the body or query, already
 * parsed; the library adds those of the path. It returns the output as JSON, or "" for a procedure without output,
 * and throws what the procedure threw. The applications of a process share it, because the library takes a millisecond
 * for each operation that is called for the first time.
 */
export function openApiCall(router: AppRouter): CallOperation {
  const call = calls.get(router) ?? createCall(router);
  calls.set(router, call);
  return call;
}

function createCall(router: AppRouter): CallOperation {
  forbidCoercion(router);
  const handlers = new Map<string, ReturnType<typeof createHandler>>();

  return async (context, route, path, fields) => {
    const handle = handlers.get(route.procedurePath) ?? createHandler(router, route);
    handlers.set(route.procedurePath, handle);
    const request = new CallRequest(context, route, path, fields);
    const response = new CallResponse(request);
    await handle(request, response);
    return response.output;
  };
}

/** Each operation has a handler of its own: the library would look for the path among all of them, one by one. */
function createHandler(router: AppRouter, { procedurePath }: Route) {
  const all: Record<string, unknown> = router._def.procedures;
  const lone = { ...router, _def: { ...router._def, procedures: { [procedurePath]: all[procedurePath] } } };
  return createOpenApiNodeHttpHandler<OpenApiRouter, CallRequest, CallResponse>({
    router: asOpenApiRouter(lone),
    createContext: ({ req }) => req.context,
    // Thrown, it reaches rest.ts, and the library does not answer with errors of its own.
    onError: ({ error }) => {
      throw error;
    },
  });
}
