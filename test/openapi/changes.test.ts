import { expect, test } from "vitest";
import { unnamedChanges, unreleasedSection } from "../../openapi/changes/changelog.ts";
import { compareDocuments } from "../../openapi/changes/documents.ts";
import type { JsonObject } from "../../server/http/openApi/json.ts";

/** A document with one operation, `POST /things`, and one event, which both use the schema `Thing`. */
function documentWith(change: (made: ReturnType<typeof parts>) => void = () => {}): JsonObject {
  const made = parts();
  change(made);
  const { operation, paths, schemas, webhooks } = made;
  return { paths: { "/things": { post: operation }, ...paths }, webhooks, components: { schemas } };
}

const json = (schema: JsonObject): JsonObject => ({ content: { "application/json": { schema } } });

function parts() {
  const makeThing = {
    type: "object",
    additionalProperties: false,
    required: ["name"],
    properties: {
      name: { type: "string", minLength: 2, maxLength: 80 } as JsonObject,
      kind: { type: "string", enum: ["small", "large"] } as JsonObject,
      cents: { anyOf: [{ type: "integer" }, { type: "null" }] } as JsonObject,
    } as JsonObject,
  };
  const thing = {
    type: "object",
    required: ["id", "state"],
    properties: {
      id: { type: "string" } as JsonObject,
      state: { type: "string", enum: ["new", "old"] } as JsonObject,
      parent: { $ref: "#/components/schemas/Thing" },
    } as JsonObject,
  };
  const operation: JsonObject = {
    operationId: "things_make",
    security: [{ session: [] }, { apiKey: [] }],
    parameters: [{ in: "query", name: "page", schema: { type: "integer", maximum: 100 } }],
    requestBody: { required: true, ...json({ $ref: "#/components/schemas/MakeThing" }) },
    responses: { "201": json({ $ref: "#/components/schemas/Thing" }), "400": json({ type: "object" }) },
  };
  const paths: JsonObject = { "/others": { get: { operationId: "others_list", responses: { "204": {} } } } };
  const webhooks: JsonObject = {
    "thing.made": { post: { requestBody: json({ $ref: "#/components/schemas/Thing" }) } },
  };
  return {
    operation,
    paths,
    webhooks,
    makeThing,
    thing,
    schemas: { MakeThing: makeThing, Thing: thing } as JsonObject,
  };
}

/** The places of the breaking changes and, after a plus, of the others. */
const changed = (change: (made: ReturnType<typeof parts>) => void) =>
  compareDocuments(documentWith(), documentWith(change)).map(
    ({ place, isBreaking }) => `${isBreaking ? "" : "+ "}${place}`,
  );

test("a document has no changes from itself, nor when a schema that nothing names differently is renamed", () => {
  expect(changed(() => {})).toEqual([]);
  expect(
    changed(({ operation, schemas, thing }) => {
      schemas.NewName = thing;
      operation.responses = { "201": json({ $ref: "#/components/schemas/NewName" }) };
    }),
  ).toEqual([]);
});

test.each<[string, (made: ReturnType<typeof parts>) => void, string[]]>([
  ["an operation is removed", ({ paths }) => delete paths["/others"], ["GET /others"]],
  ["an operation is added", ({ paths }) => (paths["/more"] = { get: { operationId: "more" } }), ["+ GET /more"]],
  ["an operation is renamed", ({ operation }) => (operation.operationId = "things_create"), ["POST /things"]],
  ["an event is removed", ({ webhooks }) => delete webhooks["thing.made"], ["thing.made"]],
  ["keys no longer suffice", ({ operation }) => (operation.security = [{ session: [] }]), ["POST /things"]],
  [
    "a scope is asked",
    ({ operation }) => (operation.security = [{ session: [] }, { apiKey: ["x"] }]),
    ["POST /things"],
  ],
  ["everyone may", ({ operation }) => (operation.security = []), []],
  ["a parameter is removed", ({ operation }) => (operation.parameters = []), ["POST /things"]],
  ["a status changes", ({ operation }) => (operation.responses = { "200": {} }), ["POST /things"]],
  ["a field is required", ({ makeThing }) => makeThing.required.push("kind"), ["MakeThing.kind"]],
  ["a field is added", ({ makeThing }) => (makeThing.properties.more = {}), ["+ MakeThing.more"]],
  ["a field is removed", ({ makeThing }) => delete makeThing.properties.kind, ["MakeThing.kind"]],
  [
    "a limit is tightened",
    ({ makeThing }) => (makeThing.properties.name = { type: "string", minLength: 2, maxLength: 79 }),
    ["MakeThing.name"],
  ],
  [
    "a limit is loosened",
    ({ makeThing }) => (makeThing.properties.name = { type: "string", minLength: 1, maxLength: 80 }),
    ["+ MakeThing.name"],
  ],
  [
    "an address is called one",
    ({ makeThing }) => (makeThing.properties.name = { type: "string", minLength: 2, maxLength: 80, format: "email" }),
    [],
  ],
  [
    "a text has to be an id",
    ({ makeThing }) => (makeThing.properties.name = { type: "string", minLength: 2, maxLength: 80, format: "uuid" }),
    ["MakeThing.name"],
  ],
  [
    "a value is refused",
    ({ makeThing }) => (makeThing.properties.kind = { type: "string", enum: ["small"] }),
    ["MakeThing.kind"],
  ],
  [
    "a value is accepted",
    ({ makeThing }) => (makeThing.properties.kind = { type: "string", enum: ["small", "large", "huge"] }),
    ["+ MakeThing.kind"],
  ],
  ["null is refused", ({ makeThing }) => (makeThing.properties.cents = { type: "integer" }), ["MakeThing.cents"]],
  ["null is written as a type", ({ makeThing }) => (makeThing.properties.cents = { type: ["integer", "null"] }), []],
  [
    "a number is accepted for an integer",
    ({ makeThing }) => (makeThing.properties.cents = { type: ["number", "null"] }),
    ["+ MakeThing.cents"],
  ],
  ["an answer loses a field", ({ thing }) => delete thing.properties.id, ["Thing.id"]],
  ["an answer gains a field", ({ thing }) => (thing.properties.more = {}), ["+ Thing.more"]],
  ["an answer's field can be absent", ({ thing }) => thing.required.pop(), ["Thing.state"]],
  ["an answer's field can be null", ({ thing }) => (thing.properties.id = { type: ["string", "null"] }), ["Thing.id"]],
  [
    "an answer's field has a new value",
    ({ thing }) => (thing.properties.state = { type: "string", enum: ["new", "old", "lost"] }),
    ["+ Thing.state"],
  ],
  ["an answer's field has any value", ({ thing }) => (thing.properties.state = { type: "string" }), ["Thing.state"]],
  ["an answer has another type", ({ thing }) => (thing.properties.id = { type: "integer" }), ["Thing.id"]],
])("when %s", (_, change, places) => {
  expect(changed((made) => void change(made))).toEqual(places);
});

/** Adds a field with one of several forms, each with a field of its own, which `type` tells apart, if the document says so. */
function withForms(names: readonly string[], { tagged = true, required = true } = {}) {
  return ({ thing, schemas }: ReturnType<typeof parts>) => {
    const oneOf = names.map((name) => ({ $ref: `#/components/schemas/${name}` }));
    for (const name of names) {
      const properties: JsonObject = { type: { const: name }, [`of${name}`]: { type: "string" } };
      schemas[name] = { type: "object", required: ["type", ...(required ? [`of${name}`] : [])], properties };
    }
    const mapping = Object.fromEntries(oneOf.map(({ $ref }, index) => [names[index] ?? "", $ref]));
    thing.properties.event = { oneOf, ...(tagged && { discriminator: { propertyName: "type", mapping } }) };
  };
}

test.each<[string, Parameters<typeof withForms>, string[]]>([
  ["gains one", [["Made", "Lost", "Found"]], ["+ Thing.event"]],
  ["loses one", [["Made"]], []],
  ["no longer promises a field of them", [["Made", "Lost"], { required: false }], ["Made.ofMade", "Lost.ofLost"]],
])("an answer with forms that a field tells apart %s", (_, changes, places) => {
  const compared = compareDocuments(documentWith(withForms(["Made", "Lost"])), documentWith(withForms(...changes)));
  expect(compared.map(({ place, isBreaking }) => `${isBreaking ? "" : "+ "}${place}`)).toEqual(places);
});

test("a new form of an answer breaks clients if no field tells it apart from those that they know", () => {
  const untagged = (names: readonly string[]) => documentWith(withForms(names, { tagged: false }));
  const compared = compareDocuments(untagged(["Made", "Lost"]), untagged(["Made", "Lost", "Found"]));
  expect(compared.map(({ place, isBreaking }) => [place, isBreaking])).toEqual([["Thing.event", true]]);
});

test("a new form of a request is an addition, and one that is gone breaks, whatever tells them apart", () => {
  const requestOf = (names: readonly string[]) => (made: ReturnType<typeof parts>) => {
    withForms(names)(made);
    made.makeThing.properties.event = made.thing.properties.event ?? {};
    delete made.thing.properties.event;
  };
  const [few, many] = [documentWith(requestOf(["Made", "Lost"])), documentWith(requestOf(["Made", "Lost", "Found"]))];
  expect(compareDocuments(few, many).filter(({ isBreaking }) => isBreaking)).toEqual([]);
  expect(compareDocuments(many, few).map(({ place, isBreaking }) => [place, isBreaking])).toEqual([
    ["MakeThing.event", true],
  ]);
});

test("a breaking change is named by its place in backticks, in the unreleased section", () => {
  const changelog = "# Changelog\n\n## [Unreleased]\n\n- Removed `Thing.id`.\n\n## [0.1.0]\n\n- Added `Thing.state`.\n";
  const section = unreleasedSection(changelog);
  const changes = ["Thing.id", "Thing.state"].map((place) => ({ place, what: "removed", isBreaking: true }));
  expect(unnamedChanges(changes, section).map(({ place }) => place)).toEqual(["Thing.state"]);
  expect(unnamedChanges([{ place: "Thing.more", what: "added", isBreaking: false }], section)).toEqual([]);
});
