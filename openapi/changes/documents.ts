import type { Json, JsonObject } from "../../server/http/openApi/json.ts";
import { type Change, type Direction, isObject, objectOf, SchemaComparison } from "./schemas.ts";

const methods = ["get", "post", "put", "patch", "delete"];

/** Returns what differs between two OpenAPI documents for their clients, in the order of the newer one. */
export function compareDocuments(older: JsonObject, newer: JsonObject): Change[] {
  const schemas = new SchemaComparison(older, newer);
  const changes: Change[] = [];
  for (const [kind, isEvent] of [
    ["paths", false],
    ["webhooks", true],
  ] as const) {
    const [before, after] = [operationsOf(older[kind], isEvent), operationsOf(newer[kind], isEvent)];
    for (const [name, operation] of after) {
      const old = before.get(name);
      if (old === undefined) changes.push({ place: name, what: "added", isBreaking: false });
      else if (isEvent) compareBodies(old.requestBody, operation.requestBody, "response", name);
      else compareOperations(name, old, operation);
    }
    for (const name of before.keys())
      if (!after.has(name)) changes.push({ place: name, what: "removed", isBreaking: true });
  }
  return [...changes, ...schemas.changes];

  function compareOperations(name: string, old: JsonObject, operation: JsonObject): void {
    const report = (what: string, isBreaking: boolean) => changes.push({ place: name, what, isBreaking });
    if (old.operationId !== operation.operationId)
      report(`operationId ${old.operationId} became ${operation.operationId}`, true);
    compareSecurity(old, operation, report);
    compareParameters(name, old, operation, report);
    const [oldBody, body] = [objectOf(old.requestBody), objectOf(operation.requestBody)];
    if (body.required === true && oldBody.required !== true) report("a request body is required now", true);
    compareBodies(oldBody, body, "request", name);
    const [oldResponses, responses] = [successes(older, old), successes(newer, operation)];
    for (const [status, response] of Object.entries(oldResponses)) {
      if (status in responses) compareBodies(response, responses[status], "response", name);
      else report(`no longer responds with ${status}`, true);
    }
  }

  function compareParameters(
    name: string,
    old: JsonObject,
    operation: JsonObject,
    report: (what: string, isBreaking: boolean) => void,
  ): void {
    const [before, after] = [parametersOf(older, old), parametersOf(newer, operation)];
    for (const [key, parameter] of after) {
      const previous = before.get(key);
      const isRequired = parameter.required === true;
      if (previous === undefined) report(`parameter ${key} added`, isRequired);
      else {
        if (isRequired && previous.required !== true) report(`parameter ${key} is required now`, true);
        if (formOf(previous) !== formOf(parameter)) report(`parameter ${key} is written in another form`, true);
        schemas.compare(previous.schema, parameter.schema, "request", `${name}.${parameter.name}`);
      }
    }
    for (const key of before.keys()) if (!after.has(key)) report(`parameter ${key} removed`, true);
  }

  function compareBodies(before: Json | undefined, after: Json | undefined, direction: Direction, name: string): void {
    const [old, current] = [objectOf(objectOf(before).content), objectOf(objectOf(after).content)];
    for (const [type, { schema }] of Object.entries(old).map(([type, media]) => [type, objectOf(media)] as const)) {
      if (type in current) schemas.compare(schema, objectOf(current[type]).schema, direction, name);
      else changes.push({ place: name, what: `${direction}: no longer ${type}`, isBreaking: true });
    }
  }
}

function compareSecurity(old: JsonObject, operation: JsonObject, report: (what: string, isBreaking: boolean) => void) {
  const ways = ({ security }: JsonObject) =>
    Array.isArray(security) && security.length > 0 ? security.filter(isObject) : [{}];
  const suffices = (way: JsonObject, credentials: JsonObject) =>
    Object.entries(way).every(([scheme, scopes]) => {
      const given = credentials[scheme];
      return Array.isArray(given) && Array.isArray(scopes) && scopes.every((scope) => given.includes(scope));
    });
  for (const credentials of ways(old)) {
    if (ways(operation).some((way) => suffices(way, credentials))) continue;
    report(`${Object.keys(credentials).join(" and ") || "a request without credentials"} no longer suffices`, true);
  }
}

/** The operations by `METHOD /path`, or the events by their names. */
function operationsOf(part: Json | undefined, isEvent: boolean): Map<string, JsonObject> {
  return new Map(
    Object.entries(objectOf(part)).flatMap(([path, item]) =>
      Object.entries(objectOf(item))
        .filter(([method]) => methods.includes(method))
        .map(([method, operation]) => [isEvent ? path : `${method.toUpperCase()} ${path}`, objectOf(operation)]),
    ),
  );
}

function parametersOf(document: JsonObject, { parameters }: JsonObject): Map<string, JsonObject> {
  const list = Array.isArray(parameters) ? parameters.map((parameter) => follow(document, parameter)) : [];
  return new Map(list.map((parameter) => [`${parameter.name} (${parameter.in})`, parameter]));
}

function successes(document: JsonObject, { responses }: JsonObject): Record<string, JsonObject> {
  return Object.fromEntries(
    Object.entries(objectOf(responses))
      .filter(([status]) => status.startsWith("2"))
      .map(([status, response]) => [status, follow(document, response)]),
  );
}

/** How the values of a parameter are put into the address. `form` without `explode` is a list with commas. */
function formOf({ schema, style, explode }: JsonObject): string {
  const isList = objectOf(schema).type === "array" && !(style === "form" && explode === false);
  return isList ? "repeated" : "single";
}

/** Follows a reference to a part of the document that is not a schema. */
function follow(document: JsonObject, part: Json | undefined): JsonObject {
  const object = objectOf(part);
  if (typeof object.$ref !== "string") return object;
  const keys = object.$ref.replace(/^#\//, "").split("/");
  return objectOf(keys.reduce<Json | undefined>((inner, key) => objectOf(inner)[key], document));
}
