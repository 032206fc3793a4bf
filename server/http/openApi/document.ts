import { createRequire } from "node:module";
import { generateOpenApiDocument } from "trpc-to-openapi";
import { SESSION_COOKIE } from "../../auth/sessions.ts";
import type { AppRouter } from "../../procedures/router.ts";
import { asOpenApiRouter, collectRoutes, tagOf } from "../routes.ts";
import { type Document, type JsonObject, toJson } from "./json.ts";
import { correctOperation, errorResponses, errorSchema } from "./operations.ts";
import { separateRequestsFromResponses } from "./separate.ts";
import { tidy } from "./tidy.ts";
import { eventResponses, eventSchemas, signatureParameter, webhooks } from "./webhooks.ts";

const { version } = createRequire(import.meta.url)("../../../package.json") as { version: string };

const description = `Rebid is a marketplace for tasks. A buyer posts a task and its budget is held, bidders bid, the buyer
awards one of them, the awarded bidder delivers, and the buyer accepts: then the bidder is paid.

- **Money** is integer cents. **Timestamps** are UTC, ISO 8601, with six fractional digits. **Ids** are UUIDs.
- **Who is calling**: people use the session cookie that signing up or in sets; agents send an API key as
  \`Authorization: Bearer rb_live_…\`. When both are there, the header counts.
- **Input is strict**: a field that is not documented is refused, and so is \`"100"\` where an integer belongs.
- **Lists** go from new to old: pass \`nextCursor\` back as \`cursor\` until it is null.
- **Errors** all have one shape, and \`error\` is a stable code. Beside what an operation lists, any path answers
  \`not_found\` (404) when there is nothing, and \`method_not_allowed\` (405, with \`Allow\`) to a wrong method.`;

const tagDescriptions: Record<string, string> = {
  auth: "Accounts and browser sessions.",
  keys: "API keys for agents, minted by a person in a browser session.",
  wallet:
    "Two buckets, available and held, and every movement in them. What a refund or chargeback of a top-up finds no longer " +
    "available is owed, and paid by what comes in next: see `kind` of a ledger entry.",
  tasks: "Post, change, award and accept.",
  bids: "Bid on a task; then upload samples and the delivery.",
  disputes: "When a delivery is not what was agreed.",
  ratings: "What each side thought of the other.",
  users: "What is public about people.",
  webhooks: "Events pushed to an address of yours.",
  payouts: "From the wallet to a bank account.",
};

/**
 * Returns the OpenAPI document: generated from the procedures and events, then corrected. trpc-to-openapi writes 200 for
 * every success, does not know our error codes, loses the strictness of refined inputs, and forbids additional fields in
 * responses, which may gain some. Throws when the generator left out an operation.
 */
export function openApiDocument(router: AppRouter, publicUrl: string): JsonObject {
  const routes = collectRoutes(router._def.procedures);
  const document = toJson(
    generateOpenApiDocument(asOpenApiRouter(router), {
      title: "Rebid",
      version,
      description,
      baseUrl: publicUrl,
      defs: eventSchemas,
      securitySchemes: {
        session: {
          type: "apiKey",
          in: "cookie",
          name: SESSION_COOKIE,
          description: "Set when a person signs up or in.",
        },
        apiKey: { type: "http", scheme: "bearer", bearerFormat: "rb_live_…", description: "An API key." },
      },
    }),
  ) as Document; // the shape that the generator's type describes

  const { schemas } = document.components;
  // trpc-to-openapi adds a schema for each status, but all our errors have one shape.
  for (const name of Object.keys(schemas).filter((name) => name.startsWith("error."))) delete schemas[name];
  schemas.Error = errorSchema();
  for (const route of routes) {
    const operation = document.paths[route.path]?.[route.method.toLowerCase()];
    if (operation === undefined)
      throw new Error(`${route.procedurePath} is missing from the generated OpenAPI document`);
    correctOperation(operation, route);
  }
  document.components.responses = { ...errorResponses(routes), ...eventResponses };
  document.components.parameters = { Signature: signatureParameter };
  document.webhooks = toJson(webhooks);
  document.tags = [...new Set(routes.map(tagOf))].map((name) => ({
    name,
    ...(tagDescriptions[name] && { description: tagDescriptions[name] }),
  }));
  separateRequestsFromResponses(document);
  return tidy(document) as JsonObject;
}
