import { createOpenApiNodeHttpHandler } from "trpc-to-openapi";
import type { AppRouter } from "../procedures/router.ts";
import type { Context } from "../trpc.ts";
import { forbidCoercion } from "./coercion.ts";
import { asOpenApiRouter, type Route } from "./routes.ts";

// An action without a body needs no content type, but the library would respond with 415.
const jsonHeaders = new Headers({ "Content-Type": "application/json" });

/** The request as trpc-to-openapi sees it, already checked and parsed by rest.ts. */
class CallRequest {
  readonly headers = jsonHeaders;
  readonly signal = null;
  readonly context: Context;
  readonly method: string;
  readonly url: string;
  readonly body: object | null;
  readonly query: Record<string, unknown[]>;
  failure: Error | undefined;

  constructor(context: Context, route: Route, path: string, fields: object) {
    this.context = context;
    this.method = route.method;
    this.url = path;
    this.body = route.takesBody ? fields : null;
    // Each value in an array, because the library drops a plain "" or 0.
    this.query = Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, [value]]));
  }
}

// The library takes the abort signal, which it does not use, of a fetch Request. For any other, it would build one first,
// with a copy of the body: a thirtieth of the processor time of `GET /wallet` (measured).
Object.setPrototypeOf(CallRequest.prototype, Request.prototype);

/** Captures what the library wants to send, so that we decide on status and errors. */
class CallResponse {
  statusCode = 200;
  body = "";

  setHeader(): void {}

  end(body = ""): void {
    this.body = body;
  }
}

type Handler = ReturnType<typeof createOpenApiNodeHttpHandler>;
type Caller = (context: Context, route: Route, path: string, fields: object) => Promise<string>;

const callers = new WeakMap<AppRouter, Caller>();

/**
 * Returns a function that calls a procedure through trpc-to-openapi. `fields` are those of the body or query, already
 * parsed; the library adds those of the path. It returns the output as JSON, or "" for a procedure without output,
 * and throws what the procedure threw. The applications of a process share it, because the library takes a millisecond
 * for each operation that is called for the first time.
 */
export function openApiCaller(router: AppRouter): Caller {
  const caller = callers.get(router) ?? createCaller(router);
  callers.set(router, caller);
  return caller;
}

function createCaller(router: AppRouter): Caller {
  forbidCoercion(router);
  const handlers = new Map<string, Handler>();

  return async (context, route, path, fields) => {
    const handle = handlers.get(route.procedurePath) ?? createHandler(router, route);
    handlers.set(route.procedurePath, handle);
    const call = new CallRequest(context, route, path, fields);
    const result = new CallResponse();
    // The casts here and below: the library's types require Node's own classes, but it uses only what ours have.
    await handle(call as unknown as Parameters<Handler>[0], result as unknown as Parameters<Handler>[1]);
    if (call.failure !== undefined) throw call.failure;
    return result.body;
  };
}

/** Each operation has a handler of its own: the library would look for the path among all of them, one by one. */
function createHandler(router: AppRouter, { procedurePath }: Route): Handler {
  const all: Record<string, unknown> = router._def.procedures;
  const lone = { ...router, _def: { ...router._def, procedures: { [procedurePath]: all[procedurePath] } } };
  return createOpenApiNodeHttpHandler({
    router: asOpenApiRouter(lone),
    createContext: ({ req }) => (req as unknown as CallRequest).context,
    onError: ({ error, req }) => {
      (req as unknown as CallRequest).failure = error;
    },
  });
}
