import type { Json, JsonObject } from "../../server/http/openApi/json.ts";
import { type Change, type Direction, isObject, objectOf, type Report, SchemaComparison } from "./schemas.ts";

const methods = ["get", "post", "put", "patch", "delete"];

/** Returns what differs between two OpenAPI documents for their clients, in the order of the newer one. */
export function compareDocuments(older: JsonObject, newer: JsonObject): Change[] {
  return new DocumentComparison(older, newer).compare();
}

class DocumentComparison {
  readonly #older: JsonObject;
  readonly #newer: JsonObject;
  readonly #changes: Change[] = [];
  readonly #schemas: SchemaComparison;

  constructor(older: JsonObject, newer: JsonObject) {
    this.#older = older;
    this.#newer = newer;
    this.#schemas = new SchemaComparison(older, newer);
  }

  compare(): Change[] {
    this.#compareAll(false, operationsOf(this.#older.paths, false), operationsOf(this.#newer.paths, false));
    this.#compareAll(true, operationsOf(this.#older.webhooks, true), operationsOf(this.#newer.webhooks, true));
    return [...this.#changes, ...this.#schemas.changes];
  }

  #compareAll(areEvents: boolean, before: Map<string, JsonObject>, after: Map<string, JsonObject>): void {
    for (const [name, operation] of after) {
      const old = before.get(name);
      if (old === undefined) this.#changes.push({ place: name, what: "added", isBreaking: false });
      else if (areEvents) this.#compareBodies(old.requestBody, operation.requestBody, "response", name);
      else this.#compareOperations(name, old, operation);
    }
    for (const name of before.keys())
      if (!after.has(name)) this.#changes.push({ place: name, what: "removed", isBreaking: true });
  }

  #compareOperations(name: string, old: JsonObject, operation: JsonObject): void {
    const report: Report = (what, isBreaking) => this.#changes.push({ place: name, what, isBreaking });
    if (old.operationId !== operation.operationId)
      report(`operationId ${old.operationId} became ${operation.operationId}`, true);
    compareSecurity(old, operation, report);
    this.#compareParameters(name, old, operation, report);
    const [oldBody, body] = [objectOf(old.requestBody), objectOf(operation.requestBody)];
    if (body.required === true && oldBody.required !== true) report("a request body is required now", true);
    this.#compareBodies(oldBody, body, "request", name);
    const [oldResponses, responses] = [successes(this.#older, old), successes(this.#newer, operation)];
    for (const [status, response] of Object.entries(oldResponses)) {
      if (status in responses) this.#compareBodies(response, responses[status], "response", name);
      else report(`no longer responds with ${status}`, true);
    }
  }

  #compareParameters(name: string, old: JsonObject, operation: JsonObject, report: Report): void {
    const [before, after] = [parametersOf(this.#older, old), parametersOf(this.#newer, operation)];
    for (const [key, parameter] of after) {
      const previous = before.get(key);
      const isRequired = parameter.required === true;
      if (previous === undefined) report(`parameter ${key} added`, isRequired);
      else {
        if (isRequired && previous.required !== true) report(`parameter ${key} is required now`, true);
        if (formOf(previous) !== formOf(parameter)) report(`parameter ${key} is written in another form`, true);
        this.#schemas.compare(previous.schema, parameter.schema, "request", `${name}.${parameter.name}`);
      }
    }
    for (const key of before.keys()) if (!after.has(key)) report(`parameter ${key} removed`, true);
  }

  #compareBodies(before: Json | undefined, after: Json | undefined, direction: Direction, name: string): void {
    const [old, current] = [objectOf(objectOf(before).content), objectOf(objectOf(after).content)];
    for (const [type, media] of Object.entries(old)) {
      const [{ schema }, other] = [objectOf(media), objectOf(current[type])];
      if (type in current) this.#schemas.compare(schema, other.schema, direction, name);
      else this.#changes.push({ place: name, what: `${direction}: no longer ${type}`, isBreaking: true });
    }
  }
}

function compareSecurity(old: JsonObject, operation: JsonObject, report: Report) {
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
