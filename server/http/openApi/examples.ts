import { exampleIds } from "../../schemas/common.ts";
import type { Route } from "../routes.ts";
import { isObject, type Json, type JsonObject } from "./json.ts";

/**
 * Returns a value that a schema allows, made of the examples in it: a request with every field, a response with those that it
 * always has.
 */
function exampleOf(schema: Json | undefined, schemas: JsonObject, kind: "request" | "response"): Json {
  if (!isObject(schema)) return null;
  if (schema.example !== undefined) return schema.example;
  if (typeof schema.$ref === "string") return exampleOf(schemas[schema.$ref.split("/").at(-1) ?? ""], schemas, kind);
  if (schema.const !== undefined) return schema.const;
  if (Array.isArray(schema.enum)) return schema.enum[0] ?? null;
  const [option] = optionsOf(schema);
  if (option !== undefined) return exampleOf(option, schemas, kind);
  if (schema.default !== undefined) return schema.default;
  if (schema.type === "boolean") return true;
  if (schema.type === "array") return [exampleOf(schema.items, schemas, kind)];
  if (!isObject(schema.properties)) return schema.type === "object" ? {} : null;
  const required = Array.isArray(schema.required) ? schema.required : [];
  const fields = Object.entries(schema.properties).filter(([name]) => kind === "request" || required.includes(name));
  return Object.fromEntries(fields.map(([name, field]) => [name, exampleOf(field, schemas, kind)]));
}

function optionsOf({ anyOf, oneOf }: JsonObject): Json[] {
  return [anyOf, oneOf].flatMap((options) => (Array.isArray(options) ? options : []));
}

const now = "2026-11-20T12:00:00.123456Z";
const decided = { decidedAt: now, decidedBy: exampleIds.user };
const inTwoDays = "2026-11-22T12:00:00.123456Z";
const awarded = {
  status: "awarded",
  bidCount: 1,
  awardedBidId: exampleIds.bid,
  awardedAt: now,
  deliveryDueAt: inTwoDays,
};
const delivered = { ...awarded, status: "delivered", deliveredAt: now, acceptanceDeadlineAt: inTwoDays };
const resolved = { ...delivered, status: "resolved", closedAt: now };
const decision = { status: "resolved", resolution: "split", buyerCents: 4_500, bidderCents: 4_000, resolvedAt: now };
const wonBid = { status: "awarded" };

/** Where the fields' own examples do not tell one story: what is different, and undefined for what is left out. */
const differences: Record<string, { request?: Difference; response?: Difference }> = {
  "auth.login": { request: { code: undefined } },
  "auth.removeTotp": { request: { code: "492039" } },
  "auth.close": { request: { code: undefined } },
  "keys.create": { request: { expiresAt: undefined } },
  "tasks.update": {
    request: {
      title: undefined,
      description: undefined,
      acceptanceCriteria: undefined,
      tags: undefined,
      revisions: undefined,
    },
  },
  "wallet.topup": { request: { forTask: undefined } },
  "tasks.cancel": { response: { task: { status: "cancelled", closedAt: now, closedBecause: "cancelled" } } },
  "tasks.award": { response: { task: awarded, awardedBid: wonBid } },
  "tasks.accept": { response: { task: { ...delivered, status: "accepted", acceptedAt: now, closedAt: now } } },
  "tasks.requestChanges": { response: { task: { ...awarded, deliveredAt: now, revisions: 1, revisionsUsed: 1 } } },
  "tasks.declineChanges": { response: { task: { ...delivered, revisions: 1, revisionsUsed: 1 } } },
  "tasks.dispute": { response: { task: { ...delivered, status: "disputed" } } },
  "bids.update": { request: { etaHours: undefined, notes: undefined } },
  "bids.withdraw": { response: { bid: { status: "withdrawn" } } },
  "bids.sampleInit": {
    request: { mimeType: "image/png", bytes: 48_213, durationSec: undefined, fileName: "page-1.png" },
  },
  "bids.giveBack": {
    response: { task: { ...awarded, status: "cancelled", closedAt: now, closedBecause: "given_back" } },
  },
  "approvals.approve": { response: { approval: { ...decided, status: "approved", result: { task: {} } } } },
  "approvals.decline": {
    response: { approval: { ...decided, status: "declined", reason: "Too expensive: at most $50." } },
  },
  "agreements.propose": {
    request: { deliveryDueAt: undefined },
    response: { agreement: { kind: "settle", bidderCents: 4_000 } },
  },
  "agreements.accept": {
    response: {
      agreement: { kind: "settle", bidderCents: 4_000, status: "accepted", endedAt: now },
      task: { ...delivered, status: "resolved", closedAt: now, closedBecause: "agreed" },
    },
  },
  "agreements.decline": {
    response: { agreement: { kind: "cancel", status: "declined", endedAt: now }, task: delivered },
  },
  "agreements.withdraw": {
    response: { agreement: { kind: "cancel", status: "withdrawn", endedAt: now }, task: delivered },
  },
  "disputes.read": { response: { task: { ...delivered, status: "disputed" }, bid: wonBid } },
  "disputes.resolve": { response: { task: resolved, dispute: decision } },
  "users.suspend": { response: { user: { suspendedAt: now } } },
};

type Difference = { [name: string]: Json | Difference | undefined };

/** Adds an example to the JSON bodies of an operation's request and success. */
export function addExamples(operation: JsonObject, route: Route, schemas: JsonObject): void {
  const { request, response } = differences[route.procedurePath] ?? {};
  const success = isObject(operation.responses) ? operation.responses[route.status] : undefined;
  addExample(operation.requestBody, "request", request);
  addExample(success, "response", response);

  function addExample(body: Json | undefined, kind: "request" | "response", difference: Difference = {}): void {
    const content = isObject(body) ? body.content : undefined;
    const json = isObject(content) ? content["application/json"] : undefined;
    if (isObject(json)) json.example = merge(exampleOf(json.schema, schemas, kind), difference);
  }
}

function merge(example: Json, difference: Difference): Json {
  if (!isObject(example)) return example;
  const merged = Object.entries(difference).flatMap(([name, value]): [string, Json][] => {
    if (value === undefined) return [];
    const old = example[name];
    return [[name, isObject(old) && isDifference(value) ? merge(old, value) : (value as Json)]]; // no object, or a new one
  });
  const kept = Object.entries(example).filter(([name]) => !Object.hasOwn(difference, name));
  return { ...Object.fromEntries(kept), ...Object.fromEntries(merged) };
}

function isDifference(value: Json | Difference): value is Difference {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
