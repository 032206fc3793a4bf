import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The parts of OpenAPI 3.1 and JSON Schema that our document uses. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  description?: string;
  enum?: (string | number | null)[];
  "x-extensible-enum"?: string[];
  const?: unknown;
  example?: unknown;
  examples?: unknown[];
  default?: unknown;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
}

export interface Parameter {
  name: string;
  in: "path" | "query" | "header";
  required?: boolean;
  description?: string;
  schema?: Schema;
  example?: unknown;
}

interface Media {
  schema?: Schema;
  example?: unknown;
  examples?: Record<string, { value?: unknown; $ref?: string }>;
}

interface Response {
  description?: string;
  content?: Record<string, Media>;
}

interface Operation {
  operationId: string;
  summary: string;
  description?: string;
  tags: string[];
  security?: Record<string, string[]>[];
  parameters?: (Parameter | { $ref: string })[];
  requestBody?: { required?: boolean; content: Record<string, Media> } | { $ref: string };
  responses: Record<string, Response | { $ref: string }>;
  "x-required-scope"?: string;
}

export interface Document {
  tags: { name: string; description?: string }[];
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, Record<string, { summary?: string; description?: string }>>;
  components: { schemas: Record<string, Schema> } & Record<string, Record<string, unknown>>;
}

export interface Route extends Operation {
  method: string;
  path: string;
  /** `tasks/create`, after the operation's id. */
  slug: string;
}

export function readDocument(): Document {
  return JSON.parse(readFileSync(join(import.meta.dirname, "../../../openapi/openapi.json"), "utf8"));
}

/** Returns every operation, in the order of the tags and, in each, of the paths. */
export function routesOf(document: Document): Route[] {
  const routes = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([, operation]) => operation.operationId !== undefined)
      .map(([method, operation]) => ({
        ...operation,
        method: method.toUpperCase(),
        path,
        slug: slugOf(operation),
      })),
  );
  return document.tags.flatMap(({ name }) => routes.filter(({ tags }) => tags[0] === name));
}

function slugOf({ operationId, tags }: Operation): string {
  const [tag = ""] = tags;
  const rest = operationId.replace(new RegExp(`^${tag}[_.]`), "").replace(/[_.]/g, "-");
  return `${tag}/${rest}`;
}

/** Follows a reference inside the document. */
export function resolve<Target extends object>(document: Document, target: Target | { $ref: string }): Target {
  if (!("$ref" in target) || typeof target.$ref !== "string") return target as Target;
  let found: unknown = document;
  for (const key of target.$ref.replace("#/", "").split("/")) found = (found as Record<string, unknown>)[key];
  return resolve(document, found as Target);
}

/** Returns the media type of JSON, or whatever there is. */
export function mediaOf(content: Record<string, Media> | undefined): { type: string; media: Media } | null {
  const [type, media] = Object.entries(content ?? {})[0] ?? [];
  return type === undefined || media === undefined ? null : { type, media };
}

export const refName = (schema: Schema) => schema.$ref?.split("/").at(-1);
