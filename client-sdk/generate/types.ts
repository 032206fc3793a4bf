import { ErrorBody, type ErrorCode, errorCatalogue } from "../../server/errors.ts";
import { type Transition, taskTransitions } from "../../server/market/tasks/stateMachine.ts";
import { eventSchemaName, eventTypes, LogEvent, logEventTypes } from "../../server/schemas/event.ts";
import { LogMessage } from "../../server/schemas/eventLog.ts";
import { taskStatuses } from "../../server/schemas/task.ts";
import { Declarations, itemType } from "./declarations.ts";
import { operations } from "./operations.ts";

/** The names that a procedure's input and output have in the generated code. */
export interface OperationTypes {
  input: string;
  /** `void` without one. Of a subscription, the message. */
  output: string;
  /** The type of a list's items. */
  item: string | undefined;
}

/** What the procedures, the event log and errors have, in both languages. */
export const declarations = new Declarations();

/** The types of every procedure, by its path. */
export const operationTypes: ReadonlyMap<string, OperationTypes> = new Map(
  operations.map(({ procedurePath, names, listOf, hasNoOutput, takesNoInput, ...operation }) => {
    const output = operation.output ?? LogMessage;
    const types: OperationTypes = {
      input: takesNoInput ? "NoInput" : declarations.declare(operation.input, names.input, "input"),
      output: hasNoOutput ? "void" : declarations.declare(output, names.output, "output"),
      item: listOf === undefined ? undefined : itemType(output, listOf),
    };
    return [procedurePath, types];
  }),
);
declarations.declare(LogEvent, "LogEvent", "output");
declarations.declare(ErrorBody, "ApiError", "output");

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

/** The statuses that can follow each. */
export function nextTaskStatuses(): Record<string, string[]> {
  const next = taskStatuses.map((status) => {
    const to = Object.values<Transition>(taskTransitions).filter(({ from }) => from.includes(status));
    return [status, [...new Set(to.map((transition) => transition.to))].filter((other) => other !== "same")];
  });
  return Object.fromEntries(next);
}

/** The file with the statuses that a task can come to have next. */
export function printTaskStatuses(): string {
  return `import type { TaskStatus } from "./types.ts";

/** The statuses that can follow one. */
export const nextStatuses: Readonly<Record<TaskStatus, readonly TaskStatus[]>> = ${JSON.stringify(nextTaskStatuses())};
`;
}

/** The file with all types. */
export function printTypes(): string {
  const webhookEvents = eventTypes.map(eventSchemaName);
  return `${declarations.print()}
/** The types of all events, as the event log has them. */
export type LogEventType = ${union(logEventTypes)};

/** An event as webhooks send it. */
export type WebhookEvent = ${webhookEvents.join(" | ")};

${printErrorCodes()}`;
}
