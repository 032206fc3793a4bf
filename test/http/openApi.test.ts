import { readFile } from "node:fs/promises";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { errorCatalogue } from "../../server/errors.ts";
import { openApiDocument } from "../../server/http/openApi/document.ts";
import type { Route } from "../../server/http/routes.ts";
import { errorsOf } from "../../server/meta.ts";
import { appRouter } from "../../server/procedures/router.ts";
import { eventCatalogue, eventTypes, isForWebhooks, type LogEventType } from "../../server/schemas/event.ts";
import { sql } from "../../server/store/connection.ts";
import { eventBody, type StoredEvent } from "../../server/webhooks/payload.ts";
import { classifyResponse } from "../../server/webhooks/retries.ts";
import { exampleEvent, sampleEvent } from "../../server/webhooks/sample.ts";
import { deliveryHeaders, generateSigningSecret } from "../../server/webhooks/sign.ts";
import { createModerator } from "../factories/moderators.ts";
import { createPerson } from "../factories/people.ts";
import { disputedTask } from "../factories/tasks.ts";
import { type Played, playLifecycle } from "../lifecycle/run.ts";
import { rest } from "../setup/client.ts";
import { callOverRest, inputFieldsOf, routes } from "../setup/operations.ts";
import { useService } from "../setup/testService.ts";

interface Schema {
  [keyword: string]: unknown;
}
interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  example?: unknown;
  schema: Schema;
}
interface Response {
  description: string;
  headers?: object;
  links?: Record<string, Link>;
  content?: {
    "application/json": { schema: Schema; example?: unknown; examples?: Record<string, { value: unknown }> };
  };
}
interface Link {
  operationId: string;
  parameters: Record<string, string>;
}
interface Operation {
  operationId: string;
  summary: string;
  description: string;
  tags: string[];
  security: Record<string, string[]>[];
  parameters?: Parameter[];
  requestBody?: { required: boolean; content: { "application/json": { schema: Schema; example?: unknown } } };
  responses: Record<string, Response | { $ref: string }>;
}
interface Webhook {
  operationId: string;
  tags: string[];
  security: object[];
  parameters: { $ref: string }[];
  requestBody: { required: boolean; content: { "application/json": { schema: Schema; example: unknown } } };
  responses: Record<string, { $ref: string }>;
}
interface Document {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, { post: Webhook }>;
  components: {
    schemas: Record<string, Schema>;
    responses: Record<string, Response>;
    parameters: Record<string, Parameter>;
    securitySchemes: object;
  };
  tags: { name: string }[];
}

const service = useService();
const document = openApiDocument(appRouter, "http://localhost:3000") as unknown as Document; // held against it below
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);
const webhooks = Object.entries(document.webhooks).map(([type, { post }]) => ({ type, webhook: post }));
const ajv = new Ajv2020({ strict: true, allErrors: true, allowUnionTypes: true, formats: formats() });
ajv.addVocabulary(["example", "components", "discriminator", "listOf", "x-extensible-enum"]);
ajv.addSchema({ $id: "openapi", components: document.components });

function formats() {
  return {
    uuid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
    "date-time": /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/,
    password: true,
    uri: true,
    email: true,
    int32: { type: "number", validate: (value: number) => Math.abs(value) < 2 ** 31 },
    int64: { type: "number", validate: Number.isSafeInteger },
    double: true,
  } as const;
}

/** Returns a validator for a schema of the document, in which references are resolved. */
function validator(schema: Schema): ValidateFunction {
  const rebased = JSON.stringify(schema).replaceAll('"#/components', '"openapi#/components');
  return ajv.compile(JSON.parse(rebased) as Schema);
}

function operationOf(route: Route): Operation {
  const operation = document.paths[route.path]?.[route.method.toLowerCase()];
  if (operation === undefined) throw new Error(`${route.procedurePath} is not documented`);
  return operation;
}

function responseOf(route: Route, status: number): Response {
  const response = operationOf(route).responses[status];
  if (response === undefined) throw new Error(`${route.procedurePath} documents no ${status}`);
  if (!("$ref" in response)) return response;
  const found = document.components.responses[response.$ref.replace("#/components/responses/", "")];
  if (found === undefined) throw new Error(`${response.$ref} leads nowhere`);
  return found;
}

/** The schema that a reference leads to. */
function schemaOf(schema: Schema | undefined): Schema | undefined {
  const { $ref } = schema ?? {};
  return typeof $ref === "string" ? document.components.schemas[$ref.split("/").at(-1) ?? ""] : schema;
}

function codesOf(schema: Schema | undefined): string[] {
  const text = JSON.stringify(schemaOf(schema));
  const [, codes = ""] = /"error":\{"type":"string","enum":\[([^\]]*)\]/.exec(text) ?? [];
  return codes.split(",").map((code) => code.replaceAll('"', ""));
}

describe("the document", () => {
  test("is consistent: references resolve, ids are unique, path parameters are declared", () => {
    expect(document.openapi).toBe("3.1.0");
    const references: string[] = JSON.stringify(document).match(/"\$ref":"[^"]+"/g) ?? [];
    expect(references.length).toBeGreaterThan(50);
    for (const reference of new Set(references)) {
      const [, name] =
        /^"\$ref":"#\/components\/((?:schemas|responses|headers|parameters)\/[\w-]+)"$/.exec(reference) ?? [];
      expect(document.components, reference).toHaveProperty(name?.split("/") ?? "");
    }
    const unused = Object.keys(document.components.schemas).filter(
      (name) => !references.includes(`"$ref":"#/components/schemas/${name}"`),
    );
    expect(unused).toEqual([]);
    const all = [...operations.map(({ operation }) => operation), ...webhooks.map(({ webhook }) => webhook)];
    const ids = all.map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { path, operation } of operations) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const declared = (operation.parameters ?? []).filter((parameter) => parameter.in === "path");
      expect(declared.map(({ name }) => name)).toEqual(inPath);
      for (const { required } of declared) expect(required).toBe(true);
      expect(operation.summary).toMatch(/^[A-Z]/);
    }
    for (const { tags } of all) expect(document.tags.map(({ name }) => name)).toEqual(expect.arrayContaining(tags));
  });

  test("has an operation for every procedure, and no other", () => {
    expect(operations.map(({ operation }) => operation.operationId).sort()).toEqual(
      routes.map(({ procedurePath }) => procedurePath.replaceAll(".", "_")).sort(),
    );
  });

  test("says of every operation what it does, in one to four sentences", () => {
    for (const { path, operation } of operations) {
      expect(operation.summary, path).toMatch(/^[A-Z][^.]+$/);
      const sentences = operation.description.split("\n\n")[0]?.match(/[.!](?= |$)/g) ?? [];
      expect([path, sentences.length >= 1 && sentences.length <= 5]).toEqual([path, true]);
    }
  });

  test("names every body and record", () => {
    for (const { operation } of operations) {
      const { content } = operation.requestBody ?? {};
      if (content) expect(content["application/json"].schema).toEqual({ $ref: expect.any(String) });
    }
    const nested = Object.entries(document.components.schemas).flatMap(([name, { properties }]) =>
      Object.entries(properties ?? {})
        .filter(([, property]) => JSON.stringify(property).includes('"properties":'))
        .map(([field]) => `${name}.${field}`),
    );
    expect(nested).toEqual([]);
    expect(document.components.schemas).not.toHaveProperty("Error");
  });

  test("describes every schema, field and parameter, and says what limits the input", () => {
    const isDescribed = (schema: Schema): boolean => {
      const { description = schemaOf(schema)?.description } = schema;
      return typeof description === "string" && description !== "";
    };
    const fields = Object.entries(document.components.schemas).flatMap(([name, { properties }]) =>
      Object.entries(properties ?? {}).map(([field, schema]) => [`${name}.${field}`, schema as Schema] as const),
    );
    expect(fields.filter(([, schema]) => !isDescribed(schema)).map(([name]) => name)).toEqual([]);
    const schemas = Object.entries(document.components.schemas);
    expect(schemas.filter(([, schema]) => !schema.description).map(([name]) => name)).toEqual([]);
    const undescribed = operations.flatMap(({ operation }) =>
      (operation.parameters ?? [])
        .filter((each) => !("$ref" in each) && !each.description)
        .map(({ name }) => `${operation.operationId} ${name}`),
    );
    expect(undescribed).toEqual([]);

    const inputs = operations.flatMap(({ operation }) => {
      const body = schemaOf(operation.requestBody?.content["application/json"].schema)?.properties ?? {};
      const parameters = (operation.parameters ?? []).filter(({ schema }) => schema !== undefined);
      return [...Object.entries(body), ...parameters.map(({ name, schema }) => [name, schema] as const)].map(
        ([name, schema]) => [`${operation.operationId} ${name}`, schemaOf(schema as Schema) ?? {}] as const,
      );
    });
    expect(inputs.filter(([, schema]) => !isLimited(schema)).map(([name]) => name)).toEqual([]);
  });

  test("has none of the generator's oddities", () => {
    const text = JSON.stringify(document);
    expect(text.match(/"pattern":"(?:[^"\\]|\\.){120,}"/g)).toBeNull();
    expect(text).not.toMatch(/"listOf"/);
    expect(text).not.toMatch(/"nullable"|"9007199254740991"|9007199254740991|"\w+Output"|error\.[A-Z]/);
    for (const schema of Object.values(document.components.schemas)) expect(() => validator(schema)).not.toThrow();
  });

  test("is the same as the committed and the served one", async () => {
    const committed: unknown = JSON.parse(await readFile("openapi/openapi.json", "utf8"));
    expect(committed).toEqual(document);
    const served = (await rest(service.url, "GET", "/openapi.json")).body;
    expect(served.servers).toEqual([{ url: service.url }]);
    expect(JSON.parse(JSON.stringify(served).replaceAll(service.url, "http://localhost:3000"))).toEqual(document);
  });

  test("is serialised and compressed once, and not sent again to a client that has it", async () => {
    const fetchDocument = (headers: Record<string, string>) => fetch(`${service.url}/openapi.json`, { headers });
    const first = await fetchDocument({});
    const text = await first.text();
    const etag = first.headers.get("etag") ?? "";
    const stringify = vi.spyOn(JSON, "stringify");
    for (const encoding of ["identity", "gzip"]) {
      const again = await fetchDocument({ "accept-encoding": encoding });
      expect([again.headers.get("etag"), again.headers.get("content-encoding") ?? "identity"]).toEqual([
        etag,
        encoding,
      ]);
      expect((await again.text()) === text).toBe(true);
    }
    // Without a Cache-Control of its own, Node's fetch would add `no-cache`, which asks for the whole response.
    const headers = { "if-none-match": etag, "cache-control": "max-age=0" };
    expect((await fetchDocument(headers)).status).toBe(304);
    expect(stringify).not.toHaveBeenCalled();
    stringify.mockRestore();
  });
});

describe.each(routes.map((route) => [route.procedurePath, route] as const))("%s", (_name, route) => {
  const operation = operationOf(route);

  test("documents its success and exactly the statuses and codes that it can answer with", () => {
    const expected: Record<string, string[]> = { [route.status]: [] };
    for (const code of errorsOf(route.meta)) {
      const { status } = errorCatalogue[code];
      expected[status] = [...(expected[status] ?? []), code].sort();
    }
    const documented = Object.keys(operation.responses).map((status) => {
      const response = responseOf(route, Number(status));
      expect(response.description).not.toBe("");
      if (status === "429") expect(response.headers).toHaveProperty("Retry-After");
      return [status, Number(status) < 400 ? [] : codesOf(response.content?.["application/json"].schema).sort()];
    });
    expect(Object.fromEntries(documented)).toEqual(expected);
    expect("content" in responseOf(route, route.status)).toBe(route.status !== 204);
  });

  test("documents who may call it", () => {
    const { access } = route.meta;
    const session = { session: [] };
    const withKey = { apiKey: typeof access === "object" ? [access.scope] : [] };
    if (access === "public") expect(operation.security).toEqual([{}, session, withKey]);
    else if (access === "session" || access === "moderator") expect(operation.security).toEqual([session]);
    else expect(operation.security).toEqual([session, withKey]);
    expect(operation.description).toMatch(/\n\n\*\*Who\*\*: .+\.$/);
  });

  test("has examples that its schemas allow: of its input, its success and each of its errors", () => {
    const bodies = [
      operation.requestBody,
      ...Object.keys(operation.responses).map((status) => responseOf(route, Number(status))),
    ];
    for (const { content } of bodies.filter((body) => body !== undefined)) {
      const json: { schema?: Schema; example?: unknown; examples?: Record<string, { value: unknown }> } =
        content?.["application/json"] ?? {};
      const { schema, example, examples } = json;
      if (schema === undefined) continue;
      const values = examples === undefined ? [example] : Object.values(examples).map(({ value }) => value);
      const validate = validator(schema);
      for (const value of values) expect([value, validate(value), validate.errors]).toEqual([value, true, null]);
      if (examples !== undefined) expect(Object.keys(examples)).toEqual(codesOf(schema));
      expect(values.flatMap((value) => undocumented(value, schema))).toEqual([]);
    }
    for (const { name, schema, example } of (operation.parameters ?? []).filter(
      ({ example }) => example !== undefined,
    )) {
      expect([name, validator(schema)(example)]).toEqual([name, true]);
    }
  });

  test("documents every field that it accepts, and that it refuses others", () => {
    // The header is a parameter that several operations share.
    const inQueryOrPath = (operation.parameters ?? []).flatMap(({ name }) => name ?? []);
    const schema = schemaOf(operation.requestBody?.content["application/json"].schema);
    const inBody = Object.keys((schema?.properties as object | undefined) ?? {});
    expect([...inQueryOrPath, ...inBody].sort()).toEqual(inputFieldsOf(route).sort());
    if (schema !== undefined) expect(schema.additionalProperties).toBe(false);
    if (!route.takesBody) expect(operation.requestBody).toBeUndefined();
  });
});

describe("in a whole lifecycle", () => {
  let played: Played[];
  beforeAll(async () => {
    played = await playLifecycle(service, callOverRest, "openapi");
  });

  test("every response is as documented", () => {
    for (const { name, route, status, body } of played) {
      const { content } = responseOf(route, status);
      if (status === 204) {
        expect(body).toBeUndefined();
        continue;
      }
      const validate = validator(content?.["application/json"].schema ?? {});
      expect([name, validate(body), validate.errors]).toEqual([name, true, null]);
    }
  });

  test("no response has an undocumented field", () => {
    for (const { name, route, status, body } of played.filter((step) => step.status < 400 && step.status !== 204)) {
      const schema = responseOf(route, status).content?.["application/json"].schema ?? {};
      expect([name, undocumented(body, schema)]).toEqual([name, []]);
    }
  });

  test("every accepted request is as documented, and would not be with an additional field", () => {
    for (const { name, route, input, status } of played.filter((step) => step.status < 400)) {
      const { parameters = [], requestBody } = operationOf(route);
      for (const parameter of parameters) {
        const value = sent(parameter, input[parameter.name]);
        if (value === undefined) expect(parameter.required).not.toBe(true);
        else expect([name, parameter.name, validator(parameter.schema)(value)]).toEqual([name, parameter.name, true]);
      }
      const names = new Set(parameters.map((parameter) => parameter.name));
      const body = Object.fromEntries(Object.entries(input).filter(([field]) => !names.has(field)));
      if (requestBody === undefined) {
        expect([name, body, status]).toEqual([name, {}, status]);
        continue;
      }
      const validate = validator(requestBody.content["application/json"].schema);
      expect([name, validate(body), validate.errors]).toEqual([name, true, null]);
      expect([name, validate({ ...body, unheardOf: 1 })]).toEqual([name, false]);
    }
  });
});

describe("the events", () => {
  const contentOf = (type: LogEventType): { schema: Schema; example?: unknown } | undefined =>
    isForWebhooks(type)
      ? document.webhooks[type]?.post.requestBody.content["application/json"]
      : { schema: { $ref: `#/components/schemas/${schemaNameOf(type)}` } };
  const schemaNameOf = (type: LogEventType) =>
    `${type.replace(/(?:^|[._])(\w)/g, (_match, letter: string) => letter.toUpperCase())}Event`;

  /** Checks an event's body, as it is sent, against the document. */
  function expectDocumented(event: StoredEvent): void {
    const body: unknown = JSON.parse(eventBody(event).toString());
    const schema = contentOf(event.type)?.schema ?? {};
    const validate = validator(schema);
    expect([event.type, validate(body), validate.errors]).toEqual([event.type, true, null]);
    expect([event.type, undocumented(body, schema)]).toEqual([event.type, []]);
  }

  test("are complete, signed, and sent without credentials", () => {
    expect(Object.keys(document.webhooks)).toEqual(eventTypes);
    for (const { webhook } of webhooks) {
      expect(webhook.security).toEqual([]);
      const names = ["Signature", "EventId"];
      expect(webhook.parameters).toEqual(names.map((name) => ({ $ref: `#/components/parameters/${name}` })));
    }
    const { Signature, EventId } = document.components.parameters;
    const event = { eventId: crypto.randomUUID(), body: Buffer.from("{}") };
    const headers = deliveryHeaders(event, generateSigningSecret(), new Date());
    for (const header of [Signature, EventId]) {
      expect(header).toMatchObject({ in: "header", required: true });
      expect(validator(header?.schema ?? {})(headers[header?.name ?? ""])).toBe(true);
    }
  });

  test("of every type are recorded as documented, with the fields of their type", async () => {
    const buyer = await createPerson(service, { cents: 1_000_000 });
    const bidder = await createPerson(service);
    const moderator = await createModerator(service);
    await playLifecycle(service, callOverRest, "events");
    const { dispute } = await disputedTask(buyer, bidder);
    expect((await moderator.post(`/disputes/${dispute.id}/resolve`, { resolution: "refund" })).status).toBe(200);

    const recorded = await service.services.database.query<StoredEvent>(sql`
      SELECT id, type, created_at AS "createdAt", data FROM events`);
    expect(recorded.map(({ type }) => type)).toEqual(expect.arrayContaining(eventTypes));
    recorded.forEach(expectDocumented);
  });

  test.each(eventTypes)("the sample of %s is as documented, and is the document's example", (type) => {
    expectDocumented(exampleEvent(type));
    expect(contentOf(type)?.example).toEqual(exampleEvent(type));
  });

  test.each(eventTypes)("%s may gain fields but not lose any, and matches no other type", (type) => {
    const validate = validator(contentOf(type)?.schema ?? {});
    const { data, ...event } = exampleEvent(type);
    const parts = Object.entries(data as Record<string, object>); // a JSON object of records, validated above
    const more = parts.map(([name, part]) => [name, { ...part, unheardOf: 1 }]);
    expect(validate({ ...event, data: { ...Object.fromEntries(more), unheardOf: 1 }, unheardOf: 1 })).toBe(true);
    for (const [left] of parts) {
      const fewer = parts.filter(([name]) => name !== left);
      expect([left, validate({ ...event, data: Object.fromEntries(fewer) })]).toEqual([left, false]);
    }
    for (const other of eventTypes) expect(validate({ ...event, type: other, data })).toBe(other === type);
  });

  test("that lack a part of their data are not recorded, and neither is their change", async () => {
    const { task } = eventCatalogue["task.created"].data.parse(sampleEvent("task.created", new Date()));
    const recording = service.services.database.transaction(async (tx) =>
      tx.events.record("task.awarded", { task }, []),
    );
    await expect(recording).rejects.toThrow(/"bid"/);
  });

  test("say what each response means", () => {
    const verdicts = { "2XX": "succeeded", "3XX": "rejected", 410: "gone", "4XX": "rejected", "5XX": "retry" };
    for (const { webhook } of webhooks) expect(Object.keys(webhook.responses)).toEqual(Object.keys(verdicts));
    for (let statusCode = 200; statusCode < 600; statusCode++) {
      const range = `${Math.floor(statusCode / 100)}XX`;
      const documented = Object.entries(verdicts).find(([status]) => status === String(statusCode) || status === range);
      expect([statusCode, classifyResponse({ statusCode })]).toEqual([statusCode, documented?.[1]]);
    }
  });
});

/** A parameter's value as its schema describes it: a comma-separated list is an array. */
function sent({ schema }: Parameter, value: unknown): unknown {
  return schema?.type === "array" && typeof value === "string" ? value.split(",") : value;
}

/** Whether a schema bounds how large its values can be. */
function isLimited(schema: Schema): boolean {
  const { type, format, maxLength, minimum, maximum, maxItems, properties } = schema;
  const types = [type].flat();
  const choices = (schema.anyOf ?? schema.oneOf) as Schema[] | undefined;
  if (choices !== undefined) return choices.every((choice) => isLimited(schemaOf(choice) ?? {}));
  if (schema.enum !== undefined || schema.const !== undefined || types.includes("boolean") || type === "null")
    return true;
  if (types.includes("string")) return maxLength !== undefined || format === "uuid" || format === "date-time";
  if (types.includes("array")) return maxItems !== undefined && isLimited(schemaOf(schema.items as Schema) ?? {});
  if (types.includes("object"))
    return Object.values(properties ?? {}).every((field) => isLimited(schemaOf(field as Schema) ?? {}));
  return minimum !== undefined && (maximum !== undefined || format === "int64");
}

/** Returns the paths of the fields that are missing from a value's schema. */
function undocumented(value: unknown, schema: Schema, path = ""): string[] {
  if (typeof schema.$ref === "string") {
    return undocumented(value, document.components.schemas[schema.$ref.split("/").at(-1) ?? ""] ?? {}, path);
  }
  if (Array.isArray(schema.allOf)) {
    const [whole] = schema.allOf as Schema[]; // an error: the others only narrow it
    return undocumented(value, whole ?? {}, path);
  }
  const options = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(options)) {
    const found = options.map((option: Schema) => undocumented(value, option, path));
    return found.toSorted((a, b) => a.length - b.length)[0] ?? [];
  }
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => undocumented(item, (schema.items ?? {}) as Schema, `${path}[${index}]`));
  }
  if (typeof value !== "object" || value === null) return [];
  const properties = (schema.properties ?? {}) as Record<string, Schema>;
  // Whatever an operation takes or returns, which its own schema documents.
  if (schema.properties === undefined && typeof schema.additionalProperties === "object") return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    properties[key] === undefined ? [`${path}.${key}`] : undocumented(inner, properties[key], `${path}.${key}`),
  );
}

describe("what programs read beside types", () => {
  const listed = Object.entries(document.paths).flatMap(([path, { get }]) => {
    const names = (get?.parameters ?? []).map((parameter: { name?: string }) => parameter.name);
    return get && names.includes("cursor") ? [[path, get] as const] : [];
  });

  test("a cursor is plain text, and each list says how to read on", () => {
    expect(listed.length).toBeGreaterThan(8);
    for (const [path, get] of listed) {
      const cursor = get.parameters?.find((parameter: { name?: string }) => parameter.name === "cursor");
      expect([path, JSON.stringify(cursor?.schema)]).toEqual([path, '{"type":"string","maxLength":64}']);
      const { links } = get.responses["200"] as { links?: { next?: object } };
      expect(links?.next).toMatchObject({
        operationId: get.operationId,
        parameters: { cursor: "$response.body#/nextCursor" },
      });
    }
  });

  test("links lead from an operation to those that can follow it, with values that its answer has", () => {
    const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.values(methods ?? {}).map((operation) => ({ path, ...operation })),
    );
    const links = operations.flatMap(({ responses }) =>
      Object.values(responses).flatMap((answer) => {
        if ("$ref" in answer) return [];
        return Object.entries(answer.links ?? {}).map(([name, link]) => ({ name, answer, ...link }));
      }),
    );
    const followUps = links.filter(({ name }) => name !== "next");
    expect(followUps.length).toBeGreaterThan(25);
    for (const { operationId, parameters, answer } of followUps) {
      const target = operations.find((operation) => operation.operationId === operationId);
      for (const name of Object.keys(parameters))
        expect([operationId, target?.path]).toEqual([operationId, expect.stringContaining(`{${name}}`)]);
      for (const value of Object.values(parameters)) {
        if (value === "$request.path.id") continue;
        const [, ...names] = value.replace("$response.body#", "").split("/");
        const field = names.reduce<Schema | undefined>(
          (schema, name) => Object(schemaOf(schema)?.properties)[name],
          answer.content?.["application/json"].schema,
        );
        expect([operationId, value, field?.type]).toEqual([operationId, value, "string"]);
      }
    }
  });

  test("each operation says when to repeat it, and a change with which header it does nothing twice", () => {
    const retryOf = (path: string, method: string) => Reflect.get(document.paths[path]?.[method] ?? {}, "x-retry");
    expect(retryOf("/tasks", "post")).toMatchObject({ keyHeader: "Idempotency-Key", statuses: [429, 500, 502, 503] });
    expect(retryOf("/auth/signup", "post")).toMatchObject({ statuses: [429], withoutAnswer: false });
    expect(retryOf("/wallet", "get")).toMatchObject({ withoutAnswer: true, waitHeader: "Retry-After" });
  });

  test("values that may become more are open, and the closed sets are enums", () => {
    const { LedgerEntry, ApiError, WebhookEventType } = document.components.schemas;
    for (const [schema, name] of [
      [LedgerEntry, "kind"],
      [ApiError, "error"],
    ] as const) {
      const field: unknown = Reflect.get(schema?.properties ?? {}, name);
      expect(field).toMatchObject({ type: "string", "x-extensible-enum": expect.any(Array) });
      expect(field).not.toHaveProperty("enum");
    }
    expect(WebhookEventType).toMatchObject({ enum: eventTypes });
  });

  test("the stream says what its messages hold", () => {
    const answer = JSON.stringify(document.paths["/events/stream"]?.get?.responses["200"]);
    expect(answer).toContain('"contentSchema":{"$ref":"#/components/schemas/LogEvent"}');
  });
});
