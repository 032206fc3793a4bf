import type { OpenApiRouter } from "trpc-to-openapi";
import { z } from "zod";
import { definitionOf, type HttpMethod, type Meta, type ProcedureType, pathParametersOf, takesBody } from "../meta.ts";
import type { AppRouter } from "../procedures/router.ts";
import { pathFields } from "../schemas/messages.ts";
import { namesOf, type ProcedureNames } from "../schemas/names.ts";
import { inputsOf } from "./coercion.ts";
import { decodeEscapes } from "./paths.ts";

/** One REST operation, as the procedure's `meta.rest` declares it. */
export interface Route {
  method: HttpMethod;
  path: string;
  pattern: RegExp;
  procedurePath: string;
  type: ProcedureType;
  /** HTTP status of a success. */
  status: number;
  /** True when the input comes in a JSON body, false when it comes in the query. */
  takesBody: boolean;
  pathParameters: string[];
  /** Names of the query parameters that are integers; on the wire they are text. */
  integerParameters: Set<string>;
  /** Names of those that are `true` or `false`. */
  booleanParameters: Set<string>;
  /** Names of all query parameters. */
  queryParameters: Set<string>;
  /** What its bodies are called in the OpenAPI document. */
  names: ProcedureNames;
  meta: Meta;
}

/**
 * Returns every REST operation of a router, in the router's order. As a side effect, adds `meta.openapi` to the procedures,
 * which trpc-to-openapi reads, and registers the path's fields for the messages about unknown fields.
 * @param options.embedded whether those that only a service with embedded services has are among them
 */
export function collectRoutes(procedures: Record<string, unknown>, { embedded = false } = {}): Route[] {
  return Object.entries(procedures).flatMap(([procedurePath, procedure]) => {
    const { meta = {}, type, output } = definitionOf(procedure);
    if (meta.rest === undefined || (meta.isEmbeddedOnly && !embedded)) return [];
    const { method, path, status = 200 } = meta.rest;
    const pathParameters = pathParametersOf(meta);
    const inBody = takesBody(meta.rest);
    const route: Route = {
      method,
      path,
      pattern: new RegExp(`^${path.replace(/\{(\w+)\}/g, "(?<$1>[^/]+)")}$`),
      procedurePath,
      type,
      status,
      takesBody: inBody,
      pathParameters,
      integerParameters: fieldsOfKind(procedure, z.ZodNumber),
      booleanParameters: fieldsOfKind(procedure, z.ZodBoolean),
      queryParameters: new Set(inBody ? [] : fieldsOf(procedure).filter((name) => !pathParameters.includes(name))),
      names: namesOf(procedurePath, { input: inputsOf(procedure)[0], output }),
      meta,
    };
    // trpc-to-openapi has no streams: http/eventStream.ts serves them, and the document adds them itself.
    if (type !== "subscription") attachOpenApiMeta(route);
    for (const input of objectInputsOf(procedure)) pathFields.add(input, { names: route.pathParameters });
    return route;
  });
}

/** The operations at a path, one for each method; the path, decoded; and the query, as it was sent. */
export interface Target {
  routes: Route[];
  path: string;
  search: string;
}

/** Returns a function that says what a request target names. It returns null for a path that no operation has. */
export function targetFinder(routes: readonly Route[]): (url: string) => Target | null {
  // A path is compared with those of its shape only, and not with all of them.
  const routesByShape = Map.groupBy(routes, ({ path }) => shapeOf(path));
  return (url) => {
    const target = parseTarget(url);
    if (target === null) return null;
    const candidates = routesByShape.get(shapeOf(target.path)) ?? [];
    const found = candidates.filter(({ pattern }) => pattern.test(target.path));
    return found.length === 0 ? null : { ...target, routes: found };
  };
}

/** The first segment of a path, which is never a parameter, and the number of segments. */
function shapeOf(path: string): string {
  const segments = path.split("/");
  return `${segments[1]} ${segments.length}`;
}

/**
 * Parses a request target, in its usual form or in the absolute form that proxies use (RFC 9112, 3.2.2). Returns null for
 * a path with escapes that cannot be decoded or that hide a slash or another special character: no such path exists.
 */
function parseTarget(url: string): Omit<Target, "routes"> | null {
  const [, rawPath = "", search = ""] = /^(?:https?:\/\/[^/?#]*)?([^?#]*)(\?[^#]*)?/i.exec(url) ?? [];
  const path = decodeEscapes(rawPath);
  if (path === null || !/^\/[\w/.~-]*$/.test(path) || path.split("/").length !== rawPath.split("/").length) return null;
  // trpc-to-openapi parses the path as a URL once more, which would resolve these segments to another operation.
  if (/\/\.\.?(\/|$)/.test(path)) return null;
  // A trailing slash names the same operation.
  return { path: path.replace(/([^/])\/$/, "$1"), search: search.slice(1) };
}

/** Returns the noun that a procedure belongs to, such as `tasks`. */
export function tagOf({ procedurePath }: Route): string {
  return procedurePath.split(".", 1)[0] ?? procedurePath;
}

function attachOpenApiMeta(route: Route): void {
  const { meta, method, path, procedurePath } = route;
  Object.assign(meta, {
    openapi: {
      method,
      path,
      operationId: procedurePath.replaceAll(".", "_"),
      summary: meta.summary,
      description: meta.description,
      tags: [tagOf(route)],
      protect: meta.access !== "public",
    },
  });
}

function objectInputsOf(procedure: unknown): z.ZodObject[] {
  return inputsOf(procedure).filter((input) => input instanceof z.ZodObject);
}

function fieldsOf(procedure: unknown): string[] {
  return objectInputsOf(procedure).flatMap((input) => Object.keys(input.shape));
}

type Kind = typeof z.ZodNumber | typeof z.ZodBoolean;

function fieldsOfKind(procedure: unknown, kind: Kind): Set<string> {
  const fields = objectInputsOf(procedure).flatMap((input) => Object.entries(input.shape));
  return new Set(fields.filter(([, schema]) => isOf(schema, kind)).map(([name]) => name));
}

function isOf(schema: z.core.$ZodType, kind: Kind): boolean {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodNullable) {
    return isOf(schema.def.innerType, kind);
  }
  return schema instanceof kind;
}

/** trpc-to-openapi requires a meta type with an index signature, which a named interface cannot have. */
export function asOpenApiRouter(router: Pick<AppRouter, "createCaller"> & { _def: object }): OpenApiRouter {
  return router as unknown as OpenApiRouter;
}
