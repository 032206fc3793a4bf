import { type ErrorCode, type ErrorDetails, errorCatalogue } from "../../errors.ts";
import { errorsOf } from "../../meta.ts";
import { exampleIds } from "../../schemas/common.ts";
import type { Route } from "../routes.ts";
import { headersOf } from "./headers.ts";
import { type Json, type JsonObject, toJson } from "./json.ts";

/** The fields that an error has in its example beside those that all have. */
const exampleDetails: Partial<Record<ErrorCode, ErrorDetails>> = {
  invalid_input: { issues: [{ path: "title", message: "`title` is required." }] },
  sample_too_large: { violations: [{ field: "bytes", limit: 10_000_000, actual: 12_000_000 }] },
  delivery_too_large: { violations: [{ field: "bytes", limit: 1_000_000_000, actual: 1_200_000_000 }] },
  insufficient_funds: { neededCents: 12_000, availableCents: 5_000 },
  ledger_failed: { neededCents: 12_000, availableCents: 5_000 },
  missing_scope: { requiredScope: "task:write" },
  spend_limit: { limitCents: 10_000, spentCents: 2_500 },
  active_bid_exists: { bidId: exampleIds.bid },
  bid_changed: { priceCents: 9_000 },
  limit_reached: { limit: 100 },
  account_in_use: { open: [{ kind: "tasks", count: 1, ids: [exampleIds.task] }] },
  spam_guard: { taskId: exampleIds.task },
};

/** Refers to the responses to an operation's errors, by status. */
export function errorReferences({ meta }: Route): JsonObject {
  const references = [...codesByStatus(errorsOf(meta))].map(([status, codes]) => [
    status,
    { $ref: `#/components/responses/${nameOf(codes)}` },
  ]);
  return Object.fromEntries(references) as JsonObject; // built above
}

/** The error responses that these operations refer to, and the schemas of their bodies, by name. */
export function describeErrors(routes: readonly Route[]): { responses: JsonObject; schemas: JsonObject } {
  const lists = routes.flatMap(({ meta }) => [...codesByStatus(errorsOf(meta))]);
  const responses = lists.map(([status, codes]) => [nameOf(codes), responseOf(status, codes)] as const);
  const schemas = lists.map(([, codes]) => [nameOf(codes), schemaOf(codes)] as const);
  return { responses: Object.fromEntries(responses), schemas: Object.fromEntries(schemas) };
}

function codesByStatus(codes: ErrorCode[]): Map<number, ErrorCode[]> {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codes) {
    const { status } = errorCatalogue[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code].sort());
  }
  return new Map([...byStatus].sort(([a], [b]) => a - b));
}

/** Operations with the same codes for a status share one response: `forbidden` and `missing_scope` are `ForbiddenOrMissingScope`. */
function nameOf(codes: ErrorCode[]): string {
  const pascal = (code: string) => code.replace(/(?:^|_)(\w)/g, (_match, letter: string) => letter.toUpperCase());
  return `${codes.map(pascal).join("Or")}Error`.replace(/ErrorError$/, "Error");
}

function responseOf(status: number, codes: ErrorCode[]): Json {
  return {
    description: codes.map((code) => `\`${code}\`: ${errorCatalogue[code].message}`).join("\n\n"),
    headers: headersOf(status),
    content: {
      "application/json": {
        schema: { $ref: `#/components/schemas/${nameOf(codes)}` },
        examples: Object.fromEntries(codes.map((code) => [code, { value: exampleOf(code) }])),
      },
    },
  };
}

function schemaOf(codes: ErrorCode[]): Json {
  return {
    description: `${codes.map((code) => `\`${code}\``).join(" or ")}.`,
    allOf: [
      { $ref: "#/components/schemas/ApiError" },
      {
        type: "object",
        properties: { error: { type: "string", enum: codes, description: "A stable code to program against." } },
      },
    ],
  };
}

function exampleOf(code: ErrorCode): Json {
  const { message } = errorCatalogue[code];
  return toJson({
    error: code,
    message,
    requestId: "0c6f2f1e-7a57-4c07-9d0b-2a8a5b1d6a3e",
    ...exampleDetails[code],
  });
}
