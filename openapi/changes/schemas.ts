import type { Json, JsonObject } from "../../server/http/openApi/json.ts";

/** What differs between two documents, in one place of them. */
export interface Change {
  /** Where: an operation such as `POST /tasks`, or a field such as `Task.title`. The changelog names it so. */
  place: string;
  what: string;
  /** True if a client that was written for the older document can fail with the newer one. */
  isBreaking: boolean;
}

/** Who reads the value that a schema describes: the service reads requests, clients read responses and events. */
export type Direction = "request" | "response";

/** Reports one change at the place that is being compared. */
export type Report = (what: string, isBreaking: boolean) => void;

const lowerBounds = ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"];
const upperBounds = ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"];
const otherLimits = ["pattern", "format", "multipleOf", "uniqueItems"];

/**
 * Compares the schemas of two documents. A request may become wider: everything that was accepted must still be. A
 * response may become narrower, and may gain fields and listed values, which clients ignore when they do not know them
 * (docs/contract.md "Compatibility").
 */
export class SchemaComparison {
  readonly changes: Change[] = [];
  /** Pairs of named schemas that have been compared, so that recursion ends and a change is reported once. */
  readonly #compared = new Set<string>();
  readonly #older: JsonObject;
  readonly #newer: JsonObject;

  constructor(older: JsonObject, newer: JsonObject) {
    this.#older = older;
    this.#newer = newer;
  }

  /** Compares what two documents have at `place`. A reference continues at the place of the schema that it names. */
  compare(before: Json | undefined, after: Json | undefined, direction: Direction, place: string): void {
    const [old, current] = [resolve(before, this.#older), resolve(after, this.#newer)];
    const here = current.name ?? place;
    if (current.name !== undefined) {
      const pair = `${old.name ?? place} ${current.name} ${direction}`;
      if (this.#compared.has(pair)) return;
      this.#compared.add(pair);
    }
    const report: Report = (what, isBreaking) => {
      this.changes.push({ place: here, what: `${direction}: ${what}`, isBreaking });
    };
    const [oldTags, tags] = [tagsOf(old.schema), tagsOf(current.schema)];
    if (direction === "response" && oldTags !== undefined && tags !== undefined) {
      for (const [tag, form] of Object.entries(tags)) {
        const before = oldTags[tag];
        if (before === undefined) report(`has the new form ${tag}`, false);
        else this.compare({ $ref: before }, { $ref: form }, direction, here);
      }
      return;
    }
    const [oldForms, newForms] = [formsOf(old.schema), formsOf(current.schema)];
    const [oldForm, newForm] = [oldForms[0], newForms[0]];
    if (oldForms.length === 1 && newForms.length === 1 && oldForm && newForm) {
      this.#compareForm(oldForm, newForm, direction, here, report);
    } else {
      const fits =
        direction === "request"
          ? oldForms.every((form) => newForms.some((other) => this.#isCompatible(form, other, direction)))
          : newForms.every((form) => oldForms.some((other) => this.#isCompatible(other, form, direction)));
      if (!fits) report(`one of its forms ${direction === "request" ? "is no longer accepted" : "is new"}`, true);
    }
  }

  #isCompatible(before: JsonObject, after: JsonObject, direction: Direction): boolean {
    const inner = new SchemaComparison(this.#older, this.#newer);
    inner.compare(before, after, direction, "");
    return inner.changes.every(({ isBreaking }) => !isBreaking);
  }

  #compareForm(old: JsonObject, current: JsonObject, direction: Direction, place: string, report: Report): void {
    // A reference inside a union arrives here unresolved.
    if ("$ref" in old || "$ref" in current) {
      this.compare(old, current, direction, place);
      return;
    }
    compareTypes(old, current, direction, report);
    compareValues(old, current, direction, report);
    if (direction === "request") compareLimits(old, current, report);
    for (const name of ["items", "additionalProperties"]) {
      const [before, after] = [old[name], current[name]];
      if (isObject(before) && isObject(after)) this.compare(before, after, direction, `${place}[]`);
    }
    this.#compareFields(old, current, direction, place, report);
  }

  #compareFields(old: JsonObject, current: JsonObject, direction: Direction, place: string, report: Report): void {
    const [oldFields, fields] = [objectOf(old.properties), objectOf(current.properties)];
    const [wasRequired, isRequired] = [strings(old.required), strings(current.required)];
    const at = (name: string) => (place === "" ? name : `${place}.${name}`);
    for (const [name, before] of Object.entries(oldFields)) {
      const inField = (what: string, isBreaking: boolean) =>
        this.changes.push({ place: at(name), what: `${direction}: ${what}`, isBreaking });
      const after = fields[name];
      if (after === undefined) inField("removed", direction === "response" || current.additionalProperties === false);
      else {
        const [before1, after1] = [wasRequired.includes(name), isRequired.includes(name)];
        if (before1 && !after1) inField("no longer required", direction === "response");
        if (!before1 && after1) inField("required now", direction === "request");
        this.compare(before, after, direction, at(name));
      }
    }
    for (const name of Object.keys(fields).filter((name) => !(name in oldFields))) {
      const mustBeSent = direction === "request" && isRequired.includes(name);
      this.changes.push({ place: at(name), what: `${direction}: added`, isBreaking: mustBeSent });
    }
    if (direction === "request" && old.additionalProperties !== false && current.additionalProperties === false)
      report("unknown fields are refused now", true);
  }
}

function compareTypes(old: JsonObject, current: JsonObject, direction: Direction, report: Report): void {
  const [before, after] = [typesOf(old), typesOf(current)];
  const covers = (types: string[], type: string) =>
    types.length === 0 || types.includes(type) || (type === "integer" && types.includes("number"));
  const [wider, narrower] = direction === "request" ? [after, before] : [before, after];
  const isNarrower = narrower.length > 0 ? narrower.every((type) => covers(wider, type)) : wider.length === 0;
  if (!isNarrower) report(`type ${before.join(" or ") || "any"} became ${after.join(" or ") || "any"}`, true);
  else if (before.join() !== after.join()) report(`type ${before.join(" or ")} became ${after.join(" or ")}`, false);
}

function compareValues(old: JsonObject, current: JsonObject, direction: Direction, report: Report): void {
  const [before, after] = [valuesOf(old), valuesOf(current)];
  if (before === undefined || after === undefined) {
    if (after !== undefined) report("has a list of values now", direction === "request");
    if (before !== undefined) report("no longer has a list of values", direction === "response");
    return;
  }
  const removed = before.filter((value) => !after.includes(value));
  const added = after.filter((value) => !before.includes(value));
  if (removed.length > 0) report(`no longer has the value ${removed.join(", ")}`, direction === "request");
  if (added.length > 0) report(`has the new value ${added.join(", ")}`, false);
}

function compareLimits(old: JsonObject, current: JsonObject, report: Report): void {
  for (const name of [...lowerBounds, ...upperBounds, ...otherLimits]) {
    const [before, after] = [old[name], current[name]];
    if (before === after || (name === "format" && [before, after].every(isDescription))) continue;
    // A time has fewer characters.
    if (name === "maxLength" && old.format === "date-time" && Number(after) >= 64) continue;
    const areNumbers = typeof before === "number" && typeof after === "number";
    const isLooser =
      areNumbers && ((lowerBounds.includes(name) && after < before) || (upperBounds.includes(name) && after > before));
    report(`${name} ${before ?? "none"} became ${after ?? "none"}`, after !== undefined && !isLooser);
  }
}

/** Formats that forbid nothing by themselves: an integer's bounds say which are allowed, and an address has rules of its own. */
const isDescription = (format: Json | undefined): boolean =>
  format === undefined || /^(int\d\d|email|uri)$/.test(String(format));

const refPrefix = "#/components/schemas/";

/** Follows references, and returns the schema with the last name that led to it. */
function resolve(schema: Json | undefined, document: JsonObject): { schema: JsonObject; name?: string } {
  const object = objectOf(schema);
  const { $ref } = object;
  if (typeof $ref !== "string" || !$ref.startsWith(refPrefix)) return { schema: object };
  const name = $ref.slice(refPrefix.length);
  const inner = resolve(objectOf(objectOf(document.components).schemas)[name], document);
  return { schema: inner.schema, name: inner.name ?? name };
}

/** The forms that a field tells apart, such as an event's `type`: a new one is like a new value of that field. */
function tagsOf({ discriminator }: JsonObject): Record<string, string> | undefined {
  const { mapping } = objectOf(discriminator);
  if (mapping === undefined) return undefined;
  return Object.fromEntries(Object.entries(objectOf(mapping)).map(([tag, form]) => [tag, String(form)]));
}

/** The alternatives of a schema; `null` as one of them becomes a type of each other one. */
function formsOf(schema: JsonObject): JsonObject[] {
  const { anyOf, oneOf, ...common } = schema;
  const alternatives = [anyOf, oneOf].flatMap((list) => (Array.isArray(list) ? list.filter(isObject) : []));
  if (alternatives.length === 0) return [schema];
  const isNull = (form: JsonObject) => form.type === "null";
  const others = alternatives.filter((form) => !isNull(form));
  return alternatives.some(isNull) && others.length === 1
    ? others.map((form) => ("$ref" in form ? form : { ...common, ...form, type: [...typesOf(form), "null"] }))
    : alternatives;
}

function typesOf({ type }: JsonObject): string[] {
  return (Array.isArray(type) ? strings(type) : strings([type ?? null])).sort();
}

function valuesOf(schema: JsonObject): string[] | undefined {
  if ("const" in schema) return [JSON.stringify(schema.const)];
  const values = schema.enum ?? schema["x-extensible-enum"];
  return Array.isArray(values) ? values.map((value) => JSON.stringify(value)) : undefined;
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export const objectOf = (value: Json | undefined): JsonObject => (isObject(value) ? value : {});

const strings = (value: Json | undefined): string[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
