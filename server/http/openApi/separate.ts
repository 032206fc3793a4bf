import { type Document, type Json, type JsonObject, mapObjects } from "./json.ts";

/**
 * Requests are strict, but responses may gain fields: so a schema that is used in both becomes two, and the one for
 * requests is called `NameInput`. The generator's own `NameOutput`, its form for responses, gets the plain name.
 */
export function separateRequestsFromResponses(document: Document): void {
  const { schemas } = document.components;
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path));
  const requests = operations.map(({ requestBody, parameters }) => ({ requestBody, parameters }) as JsonObject);
  const usedInRequests = reachable(requests, schemas);
  // The events that we send may gain fields, as responses may.
  const responsesAndEvents = [
    ...operations.map(({ responses }) => responses),
    document.components.responses ?? null,
    document.webhooks ?? null,
  ];
  const usedInResponses = reachable(responsesAndEvents, schemas);
  const inputs: JsonObject = {};
  const inputNames = new Map<string, string>();
  for (const name of usedInRequests) {
    const isInBoth = usedInResponses.has(name) || `${name}Output` in schemas;
    if (isInBoth && isStrict(schemas[name] ?? null)) inputNames.set(name, `${name}Input`);
    inputs[inputNames.get(name) ?? name] = structuredClone(schemas[name] ?? {});
  }
  for (const schema of [...Object.values(inputs), ...requests]) renameRefs(schema, inputNames);

  const outputNames = new Map<string, string>();
  const outputs: JsonObject = {};
  for (const name of usedInResponses) {
    const plain = name.replace(/Output$/, "");
    if (plain !== name && plain in schemas) outputNames.set(name, plain);
    outputs[outputNames.get(name) ?? name] = allowNewFields(schemas[name] ?? {});
  }
  for (const operation of operations) operation.responses = allowNewFields(operation.responses) as JsonObject;
  for (const schema of [...Object.values(outputs), ...operations.map(({ responses }) => responses)]) {
    renameRefs(schema, outputNames);
  }
  const all = { ...inputs, ...outputs };
  document.components.schemas = Object.fromEntries(
    Object.keys(all)
      .sort()
      .map((name) => [name, all[name] ?? {}]),
  );
}

const refPrefix = "#/components/schemas/";

/** Whether a schema refuses additional fields. Only objects do, so an enum is the same in requests and in responses. */
function isStrict(schema: Json): boolean {
  return JSON.stringify(schema).includes('"additionalProperties":false');
}

/** The names of the schemas that a part of the document refers to, directly or not. */
function reachable(part: Json, schemas: JsonObject): Set<string> {
  const names = new Set<string>();
  const visit = (value: Json) => {
    if (typeof value !== "object" || value === null) return;
    const ref = Array.isArray(value) ? undefined : value.$ref;
    const name = typeof ref === "string" && ref.startsWith(refPrefix) ? ref.slice(refPrefix.length) : undefined;
    if (name !== undefined && !names.has(name)) {
      names.add(name);
      visit(schemas[name] ?? null);
    }
    for (const inner of Object.values(value)) visit(inner);
  };
  visit(part);
  return names;
}

function renameRefs(part: Json, names: ReadonlyMap<string, string>): void {
  if (typeof part !== "object" || part === null) return;
  if (!Array.isArray(part) && typeof part.$ref === "string" && part.$ref.startsWith(refPrefix)) {
    const name = part.$ref.slice(refPrefix.length);
    part.$ref = refPrefix + (names.get(name) ?? name);
  }
  for (const inner of Object.values(part)) renameRefs(inner, names);
}

function allowNewFields(part: Json): Json {
  return mapObjects(part, (object) => {
    if (object.additionalProperties !== false) return object;
    const { additionalProperties: _, ...rest } = object;
    return rest;
  });
}
