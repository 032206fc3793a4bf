import { takesDryRun, takesIdempotencyKey } from "../../meta.ts";
import type { Route } from "../routes.ts";
import { errorReferences } from "./errors.ts";
import { headersOf } from "./headers.ts";
import type { Json, JsonObject, Operation } from "./json.ts";

/**
 * Corrects what trpc-to-openapi cannot know about an operation: the status of its success, our error codes, who may call
 * it, and that its body takes no other fields.
 */
export function correctOperation(operation: Operation, route: Route): void {
  const { meta, status } = route;
  if (route.takesBody && route.method === "DELETE") moveParametersToBody(operation, route);
  const success = operation.responses["200"] as { content?: Json };
  operation.responses = {
    [status]: {
      description: successes[status] ?? "Done.",
      headers: headersOf(status, {
        isReplayable: takesIdempotencyKey(meta) && !meta.showsSecret,
        canBeTried: takesDryRun(meta),
      }),
      ...(status !== 204 && { content: success.content ?? {} }),
    },
    ...errorReferences(route),
  };
  if (takesIdempotencyKey(meta)) {
    const parameters = Array.isArray(operation.parameters) ? operation.parameters : [];
    const headers = takesDryRun(meta) ? ["IdempotencyKey", "DryRun"] : ["IdempotencyKey"];
    operation.parameters = [...parameters, ...headers.map((name) => ({ $ref: `#/components/parameters/${name}` }))];
  }
  operation.security = securityOf(route);
  operation.description = `${meta.description}\n\n${whoMayCall(route)}`;
  const schema = bodySchemaOf(operation);
  if (schema === undefined) return;
  if (Object.keys(schema.properties ?? {}).length === 0) {
    delete operation.requestBody; // an action without input takes no body
    return;
  }
  schema.additionalProperties = false;
  if (route.method === "PATCH") schema.minProperties = 1;
}

/** trpc-to-openapi knows no body for DELETE: it describes the input as parameters of the query. */
function moveParametersToBody(operation: Operation, { pathParameters }: Route): void {
  const parameters = (operation.parameters ?? []) as JsonObject[]; // what the generator writes
  const fields = parameters.filter(({ name }) => !pathParameters.includes(String(name)));
  operation.parameters = parameters.filter((parameter) => !fields.includes(parameter));
  operation.requestBody = {
    required: true,
    content: {
      "application/json": {
        schema: {
          type: "object",
          properties: Object.fromEntries(
            fields.map(({ name, schema, description }) => [
              String(name),
              { ...(schema as JsonObject), ...(description && { description }) },
            ]),
          ),
          required: fields.filter(({ required }) => required === true).map(({ name }) => String(name)),
        },
      },
    },
  };
}

const successes: Record<number, string> = {
  200: "Done.",
  201: "Created.",
  202: "Accepted. The work continues in the background.",
  204: "Done. The response has no body.",
};

function bodySchemaOf(operation: Operation): JsonObject | undefined {
  const body = operation.requestBody as { content?: { "application/json"?: { schema?: JsonObject } } } | undefined;
  return body?.content?.["application/json"]?.schema;
}

/** Scopes are written as the roles that an API key needs, which viewers show beside the scheme. */
function securityOf({ meta: { access = "public" } }: Route): Json {
  if (access === "public") return [{}, { session: [] }, { apiKey: [] }];
  if (access === "session" || access === "moderator") return [{ session: [] }];
  return [{ session: [] }, { apiKey: access === "any" ? [] : [access.scope] }];
}

function whoMayCall({ meta: { access = "public" } }: Route): string {
  if (access === "public") return "**Who**: anyone, signed in or not.";
  if (access === "any") return "**Who**: any browser session, and any API key, whatever its scopes.";
  if (access === "session") return "**Who**: browser sessions only. API keys get `forbidden`.";
  if (access === "moderator") return "**Who**: a moderator's browser session.";
  return `**Who**: a browser session, or an API key with the scope \`${access.scope}\`.`;
}
