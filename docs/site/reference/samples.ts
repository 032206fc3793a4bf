import { type Document, mediaOf, type Parameter, type Route, resolve } from "./document.ts";
import { exampleOf } from "./fields.ts";

/** Returns the parameters of an operation, references followed. */
export function parametersOf(document: Document, route: Route): Parameter[] {
  return (route.parameters ?? []).map((parameter) => resolve<Parameter>(document, parameter));
}

/** Returns an example of the body of a request; undefined if the operation takes none. */
export function bodyExampleOf(document: Document, route: Route): unknown {
  if (route.requestBody === undefined) return undefined;
  const found = mediaOf(resolve(document, route.requestBody as { content: Record<string, object> }).content);
  if (found === null) return undefined;
  const { example, examples, schema } = found.media;
  const [first] = Object.values(examples ?? {});
  return (
    example ??
    (first && resolve<{ value?: unknown }>(document, first as object).value) ??
    exampleOf(document, schema ?? {}, true)
  );
}

/** Returns an example of a success; undefined if it has no body. */
export function answerExampleOf(document: Document, route: Route): unknown {
  const success = Object.entries(route.responses).find(([status]) => status.startsWith("2"));
  if (success === undefined) return undefined;
  const found = mediaOf(resolve<{ content?: Record<string, object> }>(document, success[1]).content);
  if (found === null || found.type !== "application/json") return undefined;
  const { example, examples, schema } = found.media;
  const [first] = Object.values(examples ?? {});
  return (
    example ??
    (first && resolve<{ value?: unknown }>(document, first as object).value) ??
    exampleOf(document, schema ?? {})
  );
}

/** How the operation is called on a command line, with `$api` and `$key` as in the guides. */
export function curlSample(document: Document, route: Route): string {
  const address = `"$api${route.path.replace(/\{(\w+)\}/g, "$$$1")}"`;
  const body = bodyExampleOf(document, route);
  const lines = [
    `curl ${route.method === "GET" || (route.method === "POST" && body !== undefined) ? "" : `-X ${route.method} `}${address}`,
    ...(isPublic(route) ? [] : [needsSession(route) ? "-b session" : '-H "Authorization: Bearer $key"']),
    ...(body === undefined ? [] : ["-H 'Content-Type: application/json'", `-d '${shellQuoted(body)}'`]),
  ];
  return lines.join(" \\\n  ");
}

const shellQuoted = (body: unknown) => JSON.stringify(body, null, 2).replaceAll("'", "'\\''").replaceAll("\n", "\n  ");

/** Whether the operation works without any authentication. */
export const isPublic = ({ security }: Route) => security?.some((way) => Object.keys(way).length === 0) ?? true;

/** Whether only a person in a browser session may call the operation. */
export const needsSession = (route: Route) =>
  !isPublic(route) && !route.security?.some((way) => Object.keys(way).some((name) => /key|bearer/i.test(name)));
