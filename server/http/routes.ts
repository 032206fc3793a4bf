import type { OpenApiRouter } from "trpc-to-openapi";
import { z } from "zod";
import type { AppRouter } from "../router.ts";
import { type HttpMethod, type Meta, pathParametersOf } from "../trpc.ts";
import { inputsOf } from "./coercion.ts";

/** One REST operation, as the procedure's `meta.rest` declares it. */
export interface Route {
  method: HttpMethod;
  path: string;
  pattern: RegExp;
  procedurePath: string;
  /** HTTP status of a success. */
  status: number;
  pathParameters: string[];
  /** Query parameters that hold an integer: on the wire they are text. */
  integerParameters: Set<string>;
  meta: Meta;
}

interface RoutedProcedure {
  _def: { meta?: unknown; type: string };
}

function metaOf(procedure: unknown): Meta {
  return ((procedure as RoutedProcedure)._def.meta ?? {}) as Meta; // every procedure of ours is built with Meta
}

/** Every REST operation of a router, and its meta. Also tells trpc-to-openapi, which reads `meta.openapi`. */
export function collectRoutes(procedures: Record<string, unknown>): Route[] {
  return Object.entries(procedures).flatMap(([procedurePath, procedure]) => {
    const meta = metaOf(procedure);
    if (meta.rest === undefined) return [];
    const { method, path, status = 200 } = meta.rest;
    Object.assign(meta, {
      openapi: {
        method,
        path,
        operationId: procedurePath.replaceAll(".", "_"),
        summary: meta.summary,
        description: meta.description,
        tags: [procedurePath.split(".")[0]],
        protect: meta.access !== "public",
      },
    });
    return {
      method,
      path,
      pattern: new RegExp(`^${path.replace(/\{(\w+)\}/g, "(?<$1>[^/]+)")}$`),
      procedurePath,
      status,
      pathParameters: pathParametersOf(meta),
      integerParameters: integerFieldsOf(procedure),
      meta,
    };
  });
}

function integerFieldsOf(procedure: unknown): Set<string> {
  const fields = inputsOf(procedure)
    .filter((input) => input instanceof z.ZodObject)
    .flatMap((input) => Object.entries(input.shape));
  return new Set(fields.filter(([, schema]) => isNumber(schema)).map(([name]) => name));
}

function isNumber(schema: z.core.$ZodType): boolean {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodNullable) {
    return isNumber(schema.def.innerType);
  }
  return schema instanceof z.ZodNumber;
}

/** trpc-to-openapi asks for a meta type with an index signature, which a named interface cannot have. */
export function asOpenApiRouter(router: AppRouter): OpenApiRouter {
  return router as unknown as OpenApiRouter;
}
