import { z } from "zod";
import { type ErrorBody, errorCatalogue } from "../../server/errors.ts";
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

function inputsOf(route: Route): z.ZodType[] {
  const procedures: Record<string, unknown> = appRouter._def.procedures;
  const { inputs } = (procedures[route.procedurePath] as { _def: { inputs: unknown[] } })._def; // tRPC does not type it
  return inputs.filter((input) => input instanceof z.ZodType);
}

/** The names of all fields that an operation takes, in path, query or body. */
export function inputFieldsOf(route: Route): string[] {
  return inputsOf(route).flatMap((input) => (input instanceof z.ZodObject ? Object.keys(input.shape) : []));
}

/** What an operation takes, as JSON Schemas. */
export function inputSchemasOf(route: Route): object[] {
  return inputsOf(route).map((input) => z.toJSONSchema(input, { io: "input" }));
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
  if (route.type === "subscription") return openOverRest(url, route, input, headers);
  const path = route.path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(input[name])));
  const fields = Object.entries(input).filter(([name]) => !route.pathParameters.includes(name));
  if (route.takesBody) {
    const body = fields.length === 0 ? undefined : Object.fromEntries(fields);
    return rest(url, route.method, path, { body, headers });
  }
  const query = new URLSearchParams(fields.map(([name, value]): [string, string] => [name, String(value)]));
  return rest(url, route.method, fields.length === 0 ? path : `${path}?${query}`, { headers });
};

const queryOf = (input: Input) =>
  new URLSearchParams(Object.entries(input).map(([name, value]): [string, string] => [name, String(value)]));

/** Opens a stream and closes it again; its outcome has a body only if it was refused. */
const openOverRest: Call = async (url, route, input, headers = {}) => {
  const response = await fetch(`${url}${route.path}?${queryOf(input)}`, { headers });
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
  if (isStream) await response.body?.cancel();
  return { status: response.status, headers: response.headers, body: isStream ? undefined : await response.json() };
};

/** Opens a subscription, whose first message says whether it was refused, and closes it again. */
const openOverRpc: Call = async (url, route, input, headers = {}) => {
  const address = `${url}/trpc/${route.procedurePath}?input=${encodeURIComponent(JSON.stringify(input))}`;
  const response = await fetch(address, { headers });
  if (!response.headers.get("content-type")?.startsWith("text/event-stream")) {
    return {
      status: response.status,
      headers: response.headers,
      body: ((await response.json()) as Answer["body"]).error.data,
    };
  }
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString();
    if (/^(event: serialized-error|id: )/m.test(text)) break;
  }
  const error = /^event: serialized-error\ndata: (.*)$/m.exec(text)?.[1];
  if (error === undefined) return { status: 200, headers: response.headers, body: undefined };
  const { data } = JSON.parse(error) as { data: ErrorBody };
  return { status: errorCatalogue[data.error].status, headers: response.headers, body: data };
};

/** The same call over typed RPC, with the wire format spelled out. */
export const callOverRpc: Call = async (url, route, input, headers = {}) => {
  if (route.type === "subscription") return openOverRpc(url, route, input, headers);
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
