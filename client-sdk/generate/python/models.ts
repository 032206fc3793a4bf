import { errorCatalogue } from "../../../server/errors.ts";
import { eventSchemaName, eventTypes, logEventTypes } from "../../../server/schemas/event.ts";
import { descriptionOf, nameOf, type Schema } from "../declarations.ts";
import { declarations, nextTaskStatuses, operationTypes } from "../types.ts";
import { annotationOf, type InnerRecord, snakeCase } from "./annotations.ts";
import { docstring } from "./docstring.ts";

const isRecord = ({ type, properties }: Schema): boolean => type === "object" && properties !== undefined;

/** The inputs of procedures are the parameters of methods, and no records. */
const inputs = new Set([...operationTypes.values()].map(({ input }) => input));
const declared = declarations.all.filter(({ name }) => !inputs.has(name) && name !== "LogEvent");

/** The file with all records, and what is known of events and errors. */
export function printModels(): string {
  const inner: InnerRecord[] = innerRecordsOfInputs();
  const records = declared.map(({ name, schema }) => printDeclaration(name, schema, inner));
  for (const { name, schema } of inner) records.push(printRecord(name, schema, inner));
  return `"""The records of the service, and the names that it gives to things.

Fields and values that are newer than this version are kept: a field in \`model_extra\`, a value as text, an event of a new
type as \`UnknownEvent\`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias, Union

from pydantic import Discriminator, Tag, TypeAdapter

from ._model import Model

${records.join("\n\n")}

${printEvents()}
ErrorCode: TypeAlias = ${aliasOf(Object.keys(errorCatalogue))}
"""The codes of errors that this version knows."""
`;
}

/** The union of all events, and what parses it. */
function printEvents(): string {
  const events = declarations.all.find(({ name }) => name === "LogEvent")?.schema;
  const members = (events?.oneOf ?? events?.anyOf ?? []).map(({ $ref = "" }) => nameOf($ref));
  return `class UnknownEvent(Model):
    """An event of a type that is newer than this version."""

    id: str
    type: str
    created_at: datetime
    data: dict[str, Any]


_event_tags: dict[str, str] = {
${members.map((name) => `    ${JSON.stringify(typeOf(name))}: ${JSON.stringify(name)},`).join("\n")}
}


def _event_tag(event: Any) -> str:
    kind = event.get("type") if isinstance(event, dict) else getattr(event, "type", None)
    return _event_tags.get(str(kind), "UnknownEvent")


LogEvent: TypeAlias = Annotated[
${[...members, "UnknownEvent"].map((name) => `    ${name === members[0] ? "" : "| "}Annotated[${name}, Tag(${JSON.stringify(name)})]`).join("\n")},
    Discriminator(_event_tag),
]
"""An event of the log. \`isinstance(event, TaskAwardedEvent)\` says of which type it is."""

WebhookEvent: TypeAlias = ${eventTypes.map(eventSchemaName).join(" | ")}
"""An event that a webhook without \`log_events\` gets."""

LogEventType: TypeAlias = ${aliasOf(logEventTypes)}
"""The types of all events, as the event log has them."""

_event: TypeAdapter[LogEvent] | None = None


def parse_event(content: str | bytes) -> LogEvent:
    """An event from its JSON."""
    global _event
    if _event is None:  # its validators are built when they are needed, for a quick import
        _event = TypeAdapter(LogEvent)
    return _event.validate_json(content)
`;
}

/** The file with the fields that errors have beside the common ones. */
export function printErrorFields(): string {
  const { properties = {} } = declarations.all.find(({ name }) => name === "ApiError")?.schema ?? {};
  const own = Object.entries(properties).filter(
    ([name]) => !["error", "message", "requestId", "issues"].includes(name),
  );
  const fields = own.map(([name, schema]) => {
    const { text } = annotationOf(schema, `ApiError${capitalised(name)}`, "output", []);
    return `    @property
    def ${snakeCase(name)}(self) -> ${text} | None:
${docstring([descriptionOf(schema)], "        ")}        return self._details.${snakeCase(name)} if self._details else None
`;
  });
  const used = [...new Set(own.flatMap(([, schema]) => JSON.stringify(schema).match(/(?<=\/)[A-Z]\w+(?=")/g) ?? []))];
  return `from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from .types import ${["ApiError", ...used].toSorted().join(", ")}


class ErrorFields:
    """What some errors tell beside their code."""

    _details: ApiError | None = None

${fields.join("\n")}`;
}

/** The file with the statuses that a task can come to have next. */
export const printStatuses = (): string => `from __future__ import annotations

next_statuses: dict[str, tuple[str, ...]] = {
${Object.entries(nextTaskStatuses())
  .map(
    ([status, next]) => `    ${JSON.stringify(status)}: (${next.map((each) => `${JSON.stringify(each)},`).join(" ")}),`,
  )
  .join("\n")}
}
"""The statuses that can follow one."""
`;

/** Two procedures can take the same record: it is declared once. */
function innerRecordsOfInputs(): InnerRecord[] {
  const inner: InnerRecord[] = [];
  for (const { name, schema } of declarations.all.filter((each) => inputs.has(each.name))) {
    for (const [field, property] of Object.entries(schema.properties ?? {}))
      annotationOf(property, `${name}${capitalised(field)}`, "input", inner);
  }
  return inner;
}

export const capitalised = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const aliasOf = (values: readonly string[]): string =>
  `Literal[\n${values.map((value) => `    ${JSON.stringify(value)},`).join("\n")}\n]`;

function typeOf(event: string): string {
  const { schema } = declarations.all.find(({ name }) => name === event) ?? {};
  return String(schema?.properties?.type?.const);
}

function printDeclaration(name: string, schema: Schema, inner: InnerRecord[]): string {
  if (isRecord(schema)) return printRecord(name, schema, inner);
  // Evaluated where it stands, unlike a field's annotation: a class further down needs quotes, and `Union` takes them.
  const { text } = annotationOf(schema, name, "output", inner);
  const members = text.split(" | ");
  const value = !members.every((member) => /^[A-Z]\w+$/.test(member))
    ? text
    : `Union[${members.map((member) => `"${member}"`).join(", ")}]`;
  return `${name}: TypeAlias = ${value}\n${docstring([schema.description], "")}`;
}

function printRecord(
  name: string,
  { properties = {}, required = [], description }: Schema,
  inner: InnerRecord[],
): string {
  const fields = Object.entries(properties).map(([field, schema]) => {
    const annotation = annotationOf(schema, `${name}${capitalised(field)}`, "output", inner);
    const isOptional = !required.includes(field);
    const type = annotation.isNullable || isOptional ? `${annotation.text} | None` : annotation.text;
    return `    ${snakeCase(field)}: ${type}${isOptional ? " = None" : ""}\n${docstring([descriptionOf(schema)], "    ")}`;
  });
  const body = [description === undefined ? "" : docstring([description], "    "), fields.join("")].filter(
    (part) => part !== "",
  );
  return `class ${name}(Model):\n${body.length === 0 ? "    pass\n" : body.join("\n")}`;
}
