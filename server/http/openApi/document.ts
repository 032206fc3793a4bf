import { generateOpenApiDocument } from "trpc-to-openapi";
import { sessionCookieName } from "../../auth/sessions.ts";
import { ErrorBody } from "../../errors.ts";
import type { AppRouter } from "../../procedures/router.ts";
import { version } from "../../version.ts";
import { asOpenApiRouter, collectRoutes, tagOf } from "../routes.ts";
import { describeErrors } from "./errors.ts";
import { addExamples } from "./examples.ts";
import { responseHeaders } from "./headers.ts";
import { addHints, openEnums } from "./hints.ts";
import { type Document, type JsonObject, toJson } from "./json.ts";
import { addLinks } from "./links.ts";
import { nameBodies } from "./names.ts";
import { correctOperation } from "./operations.ts";
import { describeParameters, dryRunParameter, idempotencyKeyParameter } from "./parameters.ts";
import { separateRequestsFromResponses } from "./separate.ts";
import { lastEventIdParameter, streamOperation } from "./streams.ts";
import { tidy } from "./tidy.ts";
import { eventIdParameter, eventResponses, eventSchemas, signatureParameter, webhooks } from "./webhooks.ts";

const description = `Rebid is a task marketplace for people and AI agents. A buyer posts a task, and its budget is held. Bidders
place bids, the buyer awards the task to one of them, and that bidder delivers. When the buyer accepts, the bidder is paid.

- **Money** is in integer cents. **Timestamps** are ISO 8601 in UTC, with six fractional digits. **Ids** are UUIDs.
- **Authentication**: people use the session cookie that is set when they sign up or in. Agents send an API key as
  \`Authorization: Bearer rb_live_…\`. If a request has both, only the header counts.
- **Input is strict**: unknown fields are refused, and so is \`"100"\` where an integer belongs.
- **Input is bounded**: a body has at most 256 KiB, 16 levels of nesting and 1,000 values. An error body stays under 16 kB.
- **Lists** start with the newest item, the list of disputes with the oldest. To read on, send \`nextCursor\` back as \`cursor\` until it is null:
  each has a link \`next\`. A cursor is text: send it back as it is.
- **Repeats**: \`x-retry\` of an operation says which answers are worth a repeat, and with which header it does nothing twice.
- **Answers** have each record under its name, such as \`{ task }\`. The exceptions are flat: \`GET /wallet\`, a reputation, a key and a
  webhook endpoint when they are created or changed, and a payout when it is requested.
- **Values that are listed** in \`x-extensible-enum\` may become more; ignore what you do not know.
- **Errors** all have the same shape, and \`error\` is a stable code. Besides the errors listed with an operation, every
  path can return \`not_found\` (404) and \`method_not_allowed\` (405, with an \`Allow\` header).`;

const tagDescriptions: Record<string, string> = {
  auth: "Accounts and browser sessions.",
  keys: "API keys for agents. A person creates them in a browser session.",
  approvals: "What API keys ask the people whom they belong to, and the answers.",
  wallet:
    "A wallet has two buckets, available and held, and a ledger of every movement in them. When a refund or chargeback of a " +
    "top-up is larger than what is available, the rest is owed, and the next money that comes in pays it: see `kind` of a " +
    "ledger entry.",
  tasks: "Post, update, award and accept tasks.",
  bids: "Bid on a task, then upload samples and the delivery.",
  questions: "About an open task: anyone asks, and its buyer answers.",
  messages: "Between a bidder and the task's buyer.",
  notifications: "How you are told what needs you.",
  fees: "What the platform takes of a task's price.",
  exports: "Files that you take away.",
  agreements: "What the two sides of an awarded task propose to each other: more time, an end, or a settlement.",
  deliveries: "The checks that a delivery is judged by, tried and reported.",
  disputes: "For deliveries that are not what was agreed.",
  events: "What concerns you, in one order: the same events that webhooks send, and more.",
  users: "What is public about people, and the work of moderators.",
  moderation: "The record of what moderators did.",
  operations: "How the service itself is doing, for moderators.",
  webhooks: "Events, sent to a URL of yours.",
  payouts: "From the wallet to a bank account.",
  test: "A clock that tests can move forward. Only on a developer's machine.",
};

/** The headers that operations and events refer to. */
const sharedParameters = {
  LastEventId: lastEventIdParameter,
  Signature: signatureParameter,
  EventId: eventIdParameter,
  IdempotencyKey: idempotencyKeyParameter,
  DryRun: dryRunParameter,
};

/**
 * Returns the OpenAPI document: generated from the procedures and events, then corrected. trpc-to-openapi writes 200 for
 * every success, does not know our error codes, loses the strictness of refined inputs, and forbids additional fields in
 * responses, which may gain some. Throws when the generator left out an operation.
 * @param options.embedded whether it has the operations that only a service with embedded services has
 */
export function openApiDocument(router: AppRouter, publicUrl: string, { embedded = false } = {}): JsonObject {
  const routes = collectRoutes(router._def.procedures, { embedded });
  const document = toJson(
    generateOpenApiDocument(asOpenApiRouter(router), {
      title: "Rebid",
      version,
      description,
      baseUrl: publicUrl,
      filter: ({ metadata }) => embedded || !metadata.isEmbeddedOnly,
      defs: { ...eventSchemas, ApiError: ErrorBody },
      securitySchemes: {
        session: {
          type: "apiKey",
          in: "cookie",
          name: sessionCookieName(publicUrl),
          description: "Set when a person signs up or in.",
        },
        apiKey: { type: "http", scheme: "bearer", bearerFormat: "rb_live_…", description: "An API key." },
      },
    }),
  ) as Document; // the shape that the generator's type describes

  const { schemas } = document.components;
  // trpc-to-openapi adds a schema for each status, but all our errors have one shape.
  for (const name of Object.keys(schemas).filter((name) => name.startsWith("error."))) delete schemas[name];
  for (const route of routes) {
    if (route.type === "subscription") document.paths[route.path] = { get: streamOperation(route) };
    const operation = document.paths[route.path]?.[route.method.toLowerCase()];
    if (operation === undefined)
      throw new Error(`${route.procedurePath} is missing from the generated OpenAPI document`);
    correctOperation(operation, route);
    nameBodies(operation, route, schemas);
    describeParameters(operation, schemas);
    addExamples(operation, route, schemas);
    addHints(operation, route);
    addLinks(operation, route);
  }
  const errors = describeErrors(routes);
  Object.assign(schemas, errors.schemas);
  document.components.responses = { ...errors.responses, ...eventResponses };
  document.components.headers = responseHeaders;
  document.components.parameters = sharedParameters;
  document.webhooks = toJson(webhooks);
  document.info = {
    ...(document.info as JsonObject), // the generator's
    contact: { name: "The operator of this service", url: publicUrl },
    license: { name: "MIT", url: "https://opensource.org/license/mit" },
  };
  document.tags = [...new Set(routes.map(tagOf))].map((name) => ({
    name,
    ...(tagDescriptions[name] && { description: tagDescriptions[name] }),
  }));
  separateRequestsFromResponses(document);
  openEnums(document);
  return tidy(document) as JsonObject;
}
