import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import type { Route } from "../../server/http/routes.ts";
import { routes } from "../setup/operations.ts";

export interface Schema {
  type?: string | string[];
  format?: string;
  pattern?: string;
  enum?: unknown[];
  example?: unknown;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  items?: Schema;
  required?: string[];
  properties?: Record<string, Schema>;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  [keyword: string]: unknown;
}

/** An operation as the document describes it, with every reference resolved. */
export interface Operation {
  route: Route;
  /** The schemas of all input fields, wherever they are sent. */
  fields: Record<string, Schema>;
  required: readonly string[];
  /** One validator for each documented status; null where there is no body. */
  responses: ReadonlyMap<number, ValidateFunction | null>;
  /** True for an operation that hashes a password, which takes 20 ms of a core. */
  hashesPassword: boolean;
}

export interface Contract {
  operations: Operation[];
  /** Validates any error body of the service, whatever its code. */
  isError: ValidateFunction;
}

const formats = {
  uuid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  "date-time": /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/,
} as const;

/** Reads the served document: what a client is promised. Throws when a procedure of the router is missing from it. */
export function readContract(document: unknown): Contract {
  const root = document as { paths: Record<string, Record<string, Schema>> }; // held against JSON Schema by ajv below
  const ajv = new Ajv2020({ strict: false, allErrors: false, validateFormats: true, formats, logger: false });
  // Compiling a schema takes milliseconds, and most operations share those of their errors.
  const compiled = new Map<string, ValidateFunction>();
  const compile = (schema: Schema): ValidateFunction => {
    const text = JSON.stringify(schema);
    const validate = compiled.get(text) ?? ajv.compile(closed(schema));
    compiled.set(text, validate);
    return validate;
  };

  const operations = routes.map((route): Operation => {
    const found = root.paths[route.path]?.[route.method.toLowerCase()];
    if (found === undefined) throw new Error(`${route.procedurePath} is not in the document`);
    const operation = resolve(found, root) as {
      parameters?: { in: string; name: string; required?: boolean; schema: Schema }[];
      requestBody?: { content: { "application/json": { schema: Schema } } };
      responses: Record<string, { content?: { "application/json"?: { schema: Schema } } }>;
    }; // the shape of an OpenAPI operation
    const parameters = (operation.parameters ?? []).filter((parameter) => parameter.in !== "header");
    const body = operation.requestBody?.content["application/json"].schema;
    const responses = Object.entries(operation.responses).map(([status, { content }]) => {
      const schema = content?.["application/json"]?.schema;
      return [Number(status), schema === undefined ? null : compile(schema)] as const;
    });
    const fields = {
      ...Object.fromEntries(
        parameters.map(({ name, schema }) => [name, asText(name === "wait" ? impatient(schema) : schema)]),
      ),
      ...fieldsOf(body ?? {}),
    };
    return {
      route,
      fields,
      required: [...parameters.filter((one) => one.required).map(({ name }) => name), ...(body?.required ?? [])],
      responses: new Map(responses),
      hashesPassword: Object.keys(fields).some((name) => /password/i.test(name)),
    };
  });
  return { operations, isError: compile(resolve({ $ref: "#/components/schemas/ApiError" }, root) as Schema) };
}

/** The schema of `wait` for a client that does not spend its time with long polls. */
const impatient = (schema: Schema): Schema => ({ ...schema, maximum: 1 });

/** The schema of a comma-separated list as it is sent, in a query and over RPC: as text. */
function asText(schema: Schema): Schema {
  if (schema.type !== "array") return schema;
  const value = schema.items?.enum?.join("|");
  return { type: "string", pattern: `^(${value})(, ?(${value})){0,3}$` };
}

/** The fields of an object schema, also of one that is a choice or a combination. */
function fieldsOf(schema: Schema): Record<string, Schema> {
  const parts = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])];
  return Object.assign({}, ...parts.map(fieldsOf), schema.properties ?? {});
}

/** Replaces every `$ref` with what it names. No schema of the document contains itself. */
function resolve(value: unknown, root: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => resolve(item, root));
  if (typeof value !== "object" || value === null) return value;
  if ("$ref" in value && typeof value.$ref === "string") {
    const target = value.$ref
      .slice(2)
      .split("/")
      .reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], root);
    if (target === undefined) throw new Error(`${value.$ref} leads nowhere`);
    return resolve(target, root);
  }
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, resolve(inner, root)]));
}

/** A response may gain fields for its clients, but for us a field that the document does not have is a leak. */
function closed(schema: Schema, isBranch = false): Schema {
  const branches = (key: "anyOf" | "oneOf" | "allOf") =>
    schema[key] && { [key]: schema[key].map((branch) => closed(branch, key === "allOf")) };
  const { properties, items } = schema;
  return {
    ...schema,
    ...branches("anyOf"),
    ...branches("oneOf"),
    ...branches("allOf"),
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, inner]) => [name, closed(inner)])),
    }),
    ...(items && { items: closed(items) }),
    ...(!isBranch && (properties ?? schema.allOf) && { unevaluatedProperties: false }),
  };
}
