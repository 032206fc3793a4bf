import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { createOpenApiNodeHttpHandler, type OpenApiRouter } from "trpc-to-openapi";
import type { AppRouter } from "../procedures/router.ts";
import type { Context } from "../trpc.ts";
import { forbidCoercion } from "./coercion.ts";
import { asOpenApiRouter, type Route } from "./routes.ts";

/** What the library's types take. */
type NodeRequest = IncomingMessage & { body?: unknown; query?: unknown };

/** The class without its properties, whose types are not those of ours. */
const FetchRequest: new (url: string) => object = Request;

// An action without a body needs no content type, but the library would respond with 415.
const jsonHeaders = new Headers({ "Content-Type": "application/json" });

/**
 * A request as trpc-to-openapi takes it, whose input rest.ts has read, checked and parsed. It is a fetch Request, because the
 * library makes one of any other, for a signal that it does not use: a twentieth of the CPU time of `GET /tasks`
 * (measured).
 */
class CallRequest extends FetchRequest {
  readonly headers = jsonHeaders;
  readonly method: string;
  readonly url: string;
  readonly body: object | null;
  readonly query: Record<string, unknown[]>;

  constructor(route: Route, path: string, fields: object) {
    super("http://127.0.0.1");
    this.method = route.method;
    this.url = path;
    this.body = route.takesBody ? fields : null;
    // Each value in an array, because the library drops a plain "" or 0.
    this.query = Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, [value]]));
  }
}

/** Every response belongs to one. Nothing is read from it. */
const nobodysRequest = new IncomingMessage(new Socket());

/** Keeps what the library sends, so that we decide on the status and the headers. */
class CallResponse extends ServerResponse {
  readonly context: Context;
  output = "";

  constructor(context: Context) {
    super(nobodysRequest);
    this.context = context;
  }

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
    const response = new CallResponse(context);
    // The cast: the library's types leave out that it takes fetch Requests too.
    await handle(new CallRequest(route, path, fields) as unknown as NodeRequest, response);
    return response.output;
  };
}

/** Each operation has a handler of its own: the library would look for the path among all of them, one by one. */
function createHandler(router: AppRouter, { procedurePath }: Route) {
  const all: Record<string, unknown> = router._def.procedures;
  const lone = { ...router, _def: { ...router._def, procedures: { [procedurePath]: all[procedurePath] } } };
  return createOpenApiNodeHttpHandler<OpenApiRouter, NodeRequest, CallResponse>({
    router: asOpenApiRouter(lone),
    createContext: ({ res }) => res.context,
    // Thrown, it reaches rest.ts, and the library does not answer with errors of its own.
    onError: ({ error }) => {
      throw error;
    },
  });
}
