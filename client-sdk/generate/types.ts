import { z } from "zod";
import { ErrorBody, type ErrorCode, errorCatalogue } from "../../server/errors.ts";
import { eventSchemas } from "../../server/http/openApi/webhooks.ts";
import { eventTypes, isForWebhooks, LogEvent, logEventTypes } from "../../server/schemas/event.ts";
import { LogMessage } from "../../server/schemas/eventLog.ts";
import { Declarations, itemType } from "./declarations.ts";
import { inputName, outputName, pascalCase } from "./names.ts";
import { operations } from "./operations.ts";

/** The names that a procedure's input and output have in the generated code. */
export interface OperationTypes {
  input: string;
  /** `void` without one. Of a subscription, the message. */
  output: string;
  /** The type of a list's items. */
  item: string | undefined;
}

const named: [z.ZodType, string][] = [
  ...Object.entries(eventSchemas).map(([name, schema]): [z.ZodType, string] => [schema, name]),
  [LogEvent, "LogEvent"],
  [ErrorBody, "ErrorBody"],
];
for (const [schema, id] of named) {
  if (schema.meta()?.id === undefined) z.globalRegistry.add(schema, { ...schema.meta(), id });
}

const declarations = new Declarations();

/** The types of every procedure, by its path. */
export const operationTypes: ReadonlyMap<string, OperationTypes> = new Map(
  operations.map(({ procedurePath, namespace, verb, listOf, hasNoOutput, takesNoInput, ...operation }) => {
    const output = operation.output ?? LogMessage;
    const types: OperationTypes = {
      input: takesNoInput ? "NoInput" : declarations.declare(operation.input, inputName(namespace, verb), "input"),
      output: hasNoOutput ? "void" : declarations.declare(output, outputName(namespace, verb), "output"),
      item: listOf === undefined ? undefined : itemType(output, listOf),
    };
    return [procedurePath, types];
  }),
);
for (const [schema, name] of named) declarations.declare(schema, name, "output");

const union = (names: readonly string[]): string => names.map((name) => JSON.stringify(name)).join(" | ");

/** Error codes by status, so that the class of an error knows which codes it can have. */
function printErrorCodes(): string {
  const codes = Object.keys(errorCatalogue) as ErrorCode[]; // the keys of a literal are its type's keys
  const byStatus = Map.groupBy(codes, (code) => errorCatalogue[code].status);
  const lines = [...byStatus].map(([status, group]) => `${status}: ${union(group)};`);
  return `/** The codes of errors, by HTTP status. */
export interface ErrorCodes {
${lines.join("\n")}
}

/** A stable code to program against. */
export type ErrorCode = ErrorCodes[keyof ErrorCodes];
`;
}

/** The file with what errors need at run time. */
export function printErrorCodeList(): string {
  return `import type { ErrorCode } from "./types.ts";

/** All codes that this version knows. */
export const errorCodes: readonly ErrorCode[] = ${JSON.stringify(Object.keys(errorCatalogue))};
`;
}

/** The file with all types. */
export function printTypes(): string {
  const webhookEvents = eventTypes.filter(isForWebhooks).map((type) => pascalCase(type, "event"));
  return `${declarations.print()}
/** The types of the events that webhooks can subscribe to. */
export type WebhookEventType = ${union(eventTypes)};

/** The types of all events, as the event log has them. */
export type LogEventType = ${union(logEventTypes)};

/** An event as webhooks send it. */
export type WebhookEvent = ${webhookEvents.join(" | ")};

${printErrorCodes()}`;
}
