import { type Document, mediaOf, type Parameter, type Route, resolve, type Schema } from "./document.ts";
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
  const found = mediaOf(successOf(document, route)?.content);
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

/** How the operation is called with the SDK. Names that stand alone, such as `id`, are variables of the reader. */
export function typescriptSample(document: Document, route: Route): string {
  const method = `rebid.${route.operationId.replace("_", ".")}`;
  if (route.operationId === "events_stream") {
    return "for await (const event of rebid.events.follow()) {\n  console.log(event.type);\n}";
  }
  const body = bodyExampleOf(document, route);
  const fields = [
    ...[...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => `  ${name},`),
    ...Object.entries(typeof body === "object" && body !== null ? body : {}).map(([name, value]) => {
      return `  ${name}: ${JSON.stringify(value, null, 2)
        .replace(/"(\w+)":/g, "$1:")
        .replaceAll("\n", "\n  ")},`;
    }),
  ];
  const success = mediaOf(successOf(document, route)?.content)?.media.schema;
  const target = success === undefined ? {} : resolve(document, success);
  const [only, ...others] = Object.keys(target.properties ?? {});
  // `export` is a word of the language.
  const isName = others.length === 0 && only !== "export";
  const result = only === undefined ? "" : isName ? `const { ${only} } = ` : "const answer = ";
  return `${result}await ${method}(${fields.length === 0 ? "" : `{\n${fields.join("\n")}\n}`});`;
}

function successOf(document: Document, route: Route) {
  const success = Object.entries(route.responses).find(([status]) => status.startsWith("2"));
  return success && resolve<{ content?: Record<string, { schema?: Schema; example?: unknown }> }>(document, success[1]);
}

const shellQuoted = (body: unknown) => JSON.stringify(body, null, 2).replaceAll("'", "'\\''").replaceAll("\n", "\n  ");

/** Whether the operation works without any authentication. */
export const isPublic = ({ security }: Route) => security?.some((way) => Object.keys(way).length === 0) ?? true;

/** Whether only a person in a browser session may call the operation. */
export const needsSession = (route: Route) =>
  !isPublic(route) && !route.security?.some((way) => Object.keys(way).some((name) => /key|bearer/i.test(name)));
