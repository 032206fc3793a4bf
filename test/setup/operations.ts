import { z } from "zod";
import { collectRoutes, type Route } from "../../server/http/routes.ts";
import { appRouter } from "../../server/procedures/router.ts";
import { type Answer, type Credentials, rest } from "./client.ts";

/** Every operation of the service. Tests over this list include new procedures automatically. */
export const routes: readonly Route[] = collectRoutes(appRouter._def.procedures);

/** The operation of a procedure, such as `tasks.create`. */
export function routeOf(procedurePath: string): Route {
  const route = routes.find((candidate) => candidate.procedurePath === procedurePath);
  if (route === undefined) throw new Error(`there is no procedure ${procedurePath}`);
  return route;
}

/** The names of all fields that an operation takes, in path, query or body. */
export function inputFieldsOf(route: Route): string[] {
  const procedures: Record<string, unknown> = appRouter._def.procedures;
  const { inputs } = (procedures[route.procedurePath] as { _def: { inputs: unknown[] } })._def; // tRPC does not type it
  return inputs.flatMap((input) => (input instanceof z.ZodObject ? Object.keys(input.shape) : []));
}

/** The operation's path with every parameter set to `id`. */
export function pathWith(route: Route, id: string): string {
  return route.path.replace(/\{\w+\}/g, id);
}

export type Input = Record<string, unknown>;

/** The result of a call: the status that it has over REST, and its output or the error's body. */
export type Outcome = Pick<Answer, "status" | "body" | "headers">;
export type Call = (url: string, route: Route, input: Input, headers?: Credentials) => Promise<Outcome>;

/** Calls an operation over REST, with its input spread over path, query and body. */
export const callOverRest: Call = async (url, route, input, headers = {}) => {
  const path = route.path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(input[name])));
  const fields = Object.entries(input).filter(([name]) => !route.pathParameters.includes(name));
  if (route.takesBody) {
    const body = fields.length === 0 ? undefined : Object.fromEntries(fields);
    return rest(url, route.method, path, { body, headers });
  }
  const query = new URLSearchParams(fields.map(([name, value]): [string, string] => [name, String(value)]));
  return rest(url, route.method, fields.length === 0 ? path : `${path}?${query}`, { headers });
};

/** The same call over typed RPC, with the wire format spelled out. */
export const callOverRpc: Call = async (url, route, input, headers = {}) => {
  const text = JSON.stringify(input);
  const address = `${url}/trpc/${route.procedurePath}`;
  const response =
    route.type === "query"
      ? await fetch(`${address}?input=${encodeURIComponent(text)}`, { headers })
      : await fetch(address, {
          method: "POST",
          headers: { "content-type": "application/json", ...headers },
          body: text,
        });
  const answer = (await response.json()) as Answer["body"];
  return {
    status: response.ok ? route.status : response.status,
    headers: response.headers,
    body: response.ok ? answer.result.data : answer.error.data,
  };
};

export const transports = [
  { transport: "REST", call: callOverRest },
  { transport: "RPC", call: callOverRpc },
] as const;
