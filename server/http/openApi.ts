import { createRequire } from "node:module";
import { generateOpenApiDocument } from "trpc-to-openapi";
import { z } from "zod";
import { SESSION_COOKIE } from "../auth/sessions.ts";
import { ErrorBody, type ErrorCode, errorCatalogue } from "../errors.ts";
import type { AppRouter } from "../router.ts";
import { errorsOf } from "../trpc.ts";
import { asOpenApiRouter, collectRoutes, type Route } from "./routes.ts";

const { version } = createRequire(import.meta.url)("../../package.json") as { version: string };

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
interface Operation {
  security?: Json;
  responses: Record<string, Json>;
  [key: string]: Json | undefined;
}

const description = `Rebid is a marketplace for tasks. A buyer posts a task, bidders bid, the buyer awards one of them, the
awarded bidder delivers, and the buyer accepts; the money is held until then.

All money is integer cents. All timestamps are UTC, ISO 8601. Every error has the same shape: \`error\` is a stable code.
People use a session cookie; agents send an API key as \`Authorization: Bearer rb_live_…\`.`;

/**
 * The OpenAPI document, generated from the procedures and then corrected: trpc-to-openapi says 200 for every success,
 * knows nothing of our error codes, and forbids additional fields in answers, which may gain some.
 */
export function openApiDocument(router: AppRouter, publicUrl: string): Json {
  const routes = collectRoutes(router._def.procedures);
  const document = toJson(
    generateOpenApiDocument(asOpenApiRouter(router), {
      title: "Rebid",
      version,
      description,
      baseUrl: publicUrl,
      securitySchemes: {
        session: { type: "apiKey", in: "cookie", name: SESSION_COOKIE },
        apiKey: { type: "http", scheme: "bearer", bearerFormat: "rb_live_…" },
      },
    }),
  ) as { paths: Record<string, Record<string, Operation>>; components: { schemas: Record<string, Json> } };

  for (const route of routes) {
    const operation = document.paths[route.path]?.[route.method.toLowerCase()];
    if (operation === undefined) throw new Error(`${route.procedurePath} is not in the document`);
    correct(operation, route);
  }
  // trpc-to-openapi adds a schema of its own for each status; every error of ours has one shape.
  for (const name of Object.keys(document.components.schemas)) {
    if (name.startsWith("error.")) delete document.components.schemas[name];
  }
  document.components.schemas.Error = errorSchema();
  return allowNewFields(document as unknown as Json);
}

function correct(operation: Operation, route: Route): void {
  const { meta, status } = route;
  const success = operation.responses["200"] as { description?: string; content?: Json };
  const responses: Record<string, Json> = {
    [status]:
      status === 204
        ? { description: "Done." }
        : { description: meta.summary ?? "Success.", content: success.content ?? {} },
  };
  for (const [code, codes] of codesByStatus(errorsOf(meta))) responses[code] = errorResponse(codes);
  operation.responses = responses;
  operation.security = securityOf(route);
  if (typeof meta.access === "object") operation["x-required-scope"] = meta.access.scope;
}

function securityOf({ meta }: Route): Json {
  if (meta.access === "public") return [{}, { session: [] }, { apiKey: [] }];
  if (meta.access === "session" || meta.access === "moderator") return [{ session: [] }];
  return [{ session: [] }, { apiKey: [] }];
}

function codesByStatus(codes: ErrorCode[]): Map<number, ErrorCode[]> {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codes) {
    const { status } = errorCatalogue[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return new Map([...byStatus].sort(([a], [b]) => a - b));
}

function errorResponse(codes: ErrorCode[]): Json {
  return {
    description: codes.map((code) => `\`${code}\`: ${errorCatalogue[code].message}`).join("\n\n"),
    ...(codes.some((code) => errorCatalogue[code].status === 429) && {
      headers: { "Retry-After": { description: "Seconds to wait.", schema: { type: "integer" } } },
    }),
    content: {
      "application/json": {
        schema: {
          allOf: [
            { $ref: "#/components/schemas/Error" },
            { type: "object", properties: { error: { type: "string", enum: codes } } },
          ],
        },
      },
    },
  };
}

function errorSchema(): Json {
  const { $schema: _, ...schema } = toJson(z.toJSONSchema(ErrorBody)) as Record<string, Json>;
  return { ...schema, description: "Every error has this shape. `requestId` is also in the header `X-Request-Id`." };
}

function toJson(value: unknown): Json {
  return JSON.parse(JSON.stringify(value)) as Json; // what JSON.parse gives is Json by definition
}

/** Answers may gain fields, so a schema must not forbid them; what is sent to us stays strict. */
function allowNewFields(document: Json): Json {
  const walk = (value: Json, inRequest: boolean): Json => {
    if (Array.isArray(value)) return value.map((item) => walk(item, inRequest));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value)
        .filter(([key, inner]) => inRequest || key !== "additionalProperties" || inner !== false)
        .map(([key, inner]) => [key, walk(inner, inRequest || key === "requestBody")]),
    );
  };
  return walk(document, false);
}
