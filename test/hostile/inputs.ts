import fc from "fast-check";
import type { Operation, Schema } from "./document.ts";
import { deepValues, hostileNames, hostileValues, Known, known, pairPool, wrongIds } from "./values.ts";

/** The fields of an input in the order in which they are written; names may repeat. */
export type Entries = readonly (readonly [name: string, value: unknown])[];

/** Inputs of an operation: what the document allows, with up to three changes to it. Fewer changes are the smaller case. */
export function inputsOf(operation: Operation, shareValid: number): fc.Arbitrary<Entries> {
  const edits = fc.oneof(
    { weight: Math.round(shareValid * 100), arbitrary: fc.constant<Edit[]>([]) },
    {
      weight: 100 - Math.round(shareValid * 100),
      arbitrary: fc.array(editOf(operation), { minLength: 1, maxLength: 3, size: "small" }),
    },
  );
  return fc.tuple(validInputs(operation), edits).map(([entries, changes]) => changes.reduce(applyEdit, entries));
}

/** Inputs as the document allows them; optional fields are left out at random. */
function validInputs({ route, fields, required }: Operation): fc.Arbitrary<Entries> {
  const members = Object.entries(fields).map(([name, schema]) => {
    const value = plausible(route.path, name) ?? valuesOf(schema);
    const present = required.includes(name) ? fc.constant(true) : fc.boolean();
    return fc.tuple(fc.constant(name), value, present);
  });
  return fc
    .tuple(...members)
    .map((drawn) => drawn.filter(([, , present]) => present).map(([name, value]) => [name, value] as const))
    .map((entries) => pairUp(route.path, entries));
}

/** Makes half of the inputs with two ids name records that belong together, such as a task and its bid. */
function pairUp(path: string, entries: Entries): Entries {
  const field = secondIds[path];
  const nth = entries
    .map(([name, value]) => (name === field && value instanceof Known ? value.nth : 1))
    .find((number) => number % 2 === 0);
  if (nth === undefined) return entries;
  return entries.map(([name, value]) => {
    if (name === "id") return [name, new Known(pairPool(path, "first"), nth)];
    return name === field ? [name, new Known(pairPool(path, "second"), nth)] : [name, value];
  });
}

/** Values that get past validation because they name something that exists. Null for other fields. */
function plausible(path: string, name: string): fc.Arbitrary<unknown> | null {
  if (name === "id") return idsFor(path);
  if (name === "bidId") return idsFor("/bids/{id}");
  if (path === "/notifications/read" && name === "upTo") return mostly(known("notifications"), wrongIds);
  if (name === secondIds[path] && name !== "storageKey") return mostly(known("any"), wrongIds);
  if (name === "storageKey")
    return mostly(
      known("storageKeys"),
      known("bids").map((bid) => bid),
    );
  if (name === "cursor" || name === "since") return fc.oneof(known("timestamps"), timestamps);
  // By chance, nobody would ever sign in.
  if (path === "/auth/login" && name === "email") return known("emails");
  if (path === "/auth/login" && name === "password") return known("passwords");
  if (path === "/tasks/{id}/checks/key" && name === "name") return fc.constant("Tests");
  if (name === "email") return fc.oneof(known("emails"), fc.constantFrom("nobody@example.com", "ADA@EXAMPLE.COM"));
  if (name === "endpoint") return fc.constantFrom("https://93.184.216.34/push/1", "https://93.184.216.34/push/2");
  if (name === "detailsUrl") return fc.constantFrom("https://ci.example.com/runs/7", "http://ci.example.com/");
  if (name === "url") return fc.constantFrom("https://example.com/hook", "https://93.184.216.34/", "http://localhost/");
  return null;
}

/** By path, the field whose record belongs to the one of `id`. */
const secondIds: Record<string, string> = {
  "/tasks/{id}/award": "bidId",
  "/bids/{id}/sample/finalize": "storageKey",
  "/bids/{id}/delivery/finalize": "storageKey",
  "/bids/{id}/delivery/preflight": "storageKey",
  "/approvals/{id}/approve": "seen",
  "/deliveries/{id}/checks": "name",
  "/tasks/{id}/checks/key": "keyId",
  "/bids/{id}/files/finalize": "storageKey",
  "/bids/{id}/messages/read": "upTo",
  "/tasks/{id}/files/finalize": "storageKey",
  "/tasks/{id}/files/{fileId}": "fileId",
};

const timestamps = fc.constantFrom(
  "2026-11-20T12:00:00.123456Z",
  "0001-01-01T00:00:00Z",
  "9999-12-31T23:59:59.999999Z",
);

/** Ids of the records that a path is about: `/webhooks/deliveries/{id}` is about `deliveries`. */
function idsFor(path: string): fc.Arbitrary<unknown> {
  const [, named = "tasks"] = /([a-z]+)\/\{\w+\}/.exec(path) ?? [];
  const pool = named === "push" ? "subscriptions" : named;
  return mostly(known(pool), fc.oneof(known("any"), wrongIds));
}

function mostly(usual: fc.Arbitrary<unknown>, rare: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 7, arbitrary: usual }, { weight: 1, arbitrary: rare });
}

/** Values that a schema of the document allows. */
export function valuesOf(schema: Schema): fc.Arbitrary<unknown> {
  const options = schema.anyOf ?? schema.oneOf;
  if (options !== undefined) return fc.oneof(...options.map(valuesOf));
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  const types = [schema.type ?? []].flat();
  const choices = types.map((type) => valuesOfType(type, schema));
  return choices.length === 0 ? hostileValues : fc.oneof(...choices);
}

function valuesOfType(type: string, schema: Schema): fc.Arbitrary<unknown> {
  switch (type) {
    case "null":
      return fc.constant(null);
    case "boolean":
      return fc.boolean();
    case "integer":
    case "number": {
      const { minimum: min = 0, maximum: max = 1_000_000 } = schema;
      return fc.oneof(fc.constantFrom(min, max), fc.integer({ min: Math.ceil(min), max: Math.floor(max) }));
    }
    case "array": {
      const item = valuesOf(schema.items ?? {});
      const { minItems: minLength = 0, maxItems = 8 } = schema;
      const short = fc.array(item, { minLength, maxLength: Math.min(maxItems, minLength + 3) });
      const full = fc.array(item, { minLength: maxItems, maxLength: maxItems });
      return fc.oneof({ weight: 5, arbitrary: short }, { weight: 1, arbitrary: full });
    }
    case "object": {
      const members = Object.entries(schema.properties ?? {}).map(([name, inner]) => [name, valuesOf(inner)] as const);
      return fc.record(Object.fromEntries(members), { requiredKeys: schema.required ?? [] });
    }
    default:
      return textsOf(schema);
  }
}

function textsOf({ format, pattern, example, minLength = 0, maxLength = 400 }: Schema): fc.Arbitrary<unknown> {
  if (format === "uuid") return fc.oneof(known("any"), wrongIds);
  if (format === "date-time") return timestamps;
  if (pattern !== undefined)
    return example === undefined ? matching(pattern) : fc.oneof(matching(pattern), fc.constant(example));
  const texts = [
    fc.constantFrom("correct horse battery", "From English to Finnish", "Käännä sivu ää", "Zażółć gęślą jaźń 💸"),
    fc.constantFrom("x".repeat(Math.max(minLength, 1)), "💸".repeat(Math.min(maxLength, 200)), "a".repeat(maxLength)),
    ...(example === undefined ? [] : [fc.constant(example)]),
  ];
  return fc.oneof(...texts);
}

const byPattern = new Map<string, fc.Arbitrary<string>>();

function matching(pattern: string): fc.Arbitrary<string> {
  const arbitrary = byPattern.get(pattern) ?? fc.stringMatching(new RegExp(pattern), { size: "xsmall" });
  byPattern.set(pattern, arbitrary);
  return arbitrary;
}

/** One change to an input. `at` chooses the field. */
type Edit = {
  at: number;
  name: string;
  value: unknown;
  how: "replace" | "remove" | "repeat" | "add" | "inside" | "wrap";
};

function editOf({ fields }: Operation): fc.Arbitrary<Edit> {
  const edges = Object.values(fields).flatMap(edgesOf);
  return fc.record({
    at: fc.nat({ max: 11 }),
    name: hostileNames,
    value: fc.oneof(
      { weight: 24, arbitrary: hostileValues },
      { weight: 1, arbitrary: deepValues },
      ...(edges.length === 0 ? [] : [{ weight: 16, arbitrary: fc.constantFrom(...edges) }]),
    ),
    how: fc.constantFrom("replace", "replace", "replace", "inside", "remove", "add", "repeat", "wrap"),
  });
}

/** Values on both sides of a schema's bounds. */
function edgesOf(schema: Schema): unknown[] {
  const { minimum, maximum, minLength, maxLength, maxItems } = schema;
  const numbers = [minimum, maximum].flatMap((bound) =>
    bound === undefined ? [] : [bound - 1, bound, bound + 1, bound + 0.5],
  );
  const lengths = [minLength, maxLength].flatMap((bound) => {
    return bound === undefined ? [] : [Math.max(bound - 1, 0), bound, bound + 1];
  });
  const items = maxItems === undefined ? [] : [maxItems, maxItems + 1].map((size) => Array(size).fill("x"));
  const inner = [
    ...Object.values(schema.properties ?? {}),
    ...(schema.anyOf ?? []),
    ...(schema.items ? [schema.items] : []),
  ];
  return [
    ...numbers,
    ...lengths.flatMap((size) => ["x".repeat(size), "💸".repeat(size)]),
    ...items,
    ...inner.flatMap(edgesOf),
  ];
}

function applyEdit(entries: Entries, { at, name, value, how }: Edit): Entries {
  const index = entries.length === 0 ? -1 : at % entries.length;
  const chosen = entries[index];
  if (chosen === undefined || how === "add") return [...entries, [name, value]];
  const [field, old] = chosen;
  if (how === "remove") return entries.toSpliced(index, 1);
  if (how === "repeat") return [...entries, [field, value]];
  return entries.with(index, [
    field,
    how === "wrap" ? [old] : how === "inside" ? changeInside(old, at, name, value) : value,
  ]);
}

function changeInside(old: unknown, at: number, name: string, value: unknown): unknown {
  if (Array.isArray(old)) return old.length === 0 ? [value] : old.with(at % old.length, value);
  if (typeof old === "object" && old !== null && !(old instanceof Known)) {
    const names = [...Object.keys(old), name];
    return Object.fromEntries([...Object.entries(old), [names[at % names.length] ?? name, value]]);
  }
  return value;
}
