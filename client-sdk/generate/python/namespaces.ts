import { descriptionOf } from "../declarations.ts";
import { describeOperation } from "../documentation.ts";
import { namespaces, type Operation, operations } from "../operations.ts";
import { declarations, operationTypes } from "../types.ts";
import { annotationOf, snakeCase } from "./annotations.ts";
import { docstring } from "./docstring.ts";
import { capitalised } from "./models.ts";

/** What the client insists on, although the service does not: the price that an award was meant for. */
const insisted: Record<string, readonly string[]> = { "tasks.award": ["expectedPriceCents"] };

/** Their classes have more than their procedures: \`_async/resources.py\` extends them. */
const extended = ["tasks", "bids", "messages", "events", "approvals"];

/** The file with a class for each namespace, for asyncio. The other one is derived from it. */
export function printNamespaces(): string {
  const classes = namespaces.map(printNamespace).join("\n\n");
  const own = namespaces.filter((namespace) => !extended.includes(namespace));
  const known = new Set(classes.match(/\b[A-Z]\w+\b/g));
  const names = ["Literal", "Sequence", "datetime"].filter((name) => new RegExp(`\\b${name}\\b`).test(classes));
  const types = [...declarations.all.map(({ name }) => name), ...innerNames()].filter((name) => known.has(name));
  return `"""A class for each namespace of the service, with a method for each of its procedures."""

from __future__ import annotations

${names.includes("Sequence") ? "from collections.abc import Mapping, Sequence\n" : ""}${names.includes("datetime") ? "from datetime import datetime\n" : ""}from typing import TYPE_CHECKING, Literal

from .._model import given
from .._options import NOT_GIVEN, NotGiven
from .._records import records
from .pages import AsyncPages
from .transport import AsyncTransport

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._options import ChangeOptions, RequestOptions, TryOptions
    from ..types import (
${[...new Set(types)]
  .toSorted()
  .map((name) => `        ${name},`)
  .join("\n")}
    )


class _AsyncNamespace:
    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport


${classes}

class AsyncNamespaces:
    """The namespaces that have nothing but their procedures."""

    def __init__(self, transport: AsyncTransport) -> None:
${own.map((namespace) => `        self.${snakeCase(namespace)} = ${className(namespace)}(transport)`).join("\n")}
`;
}

const className = (namespace: string): string => `Async${capitalised(namespace)}Api`;

function innerNames(): string[] {
  return [...operationTypes.values()].flatMap(({ input }) => parametersOf(input, []).inner);
}

function printNamespace(namespace: string): string {
  // A stream is not one answer: `events.follow`, which is written by hand, reads it.
  const own = operations.filter((operation) => operation.namespace === namespace && operation.type !== "subscription");
  return `class ${className(namespace)}(_AsyncNamespace):\n${own.map(printMethod).join("\n")}`;
}

interface Parameter {
  name: string;
  wireName: string;
  text: string;
  isOptional: boolean;
  isNullable: boolean;
  description: string;
}

function parametersOf(input: string, required: readonly string[]): { parameters: Parameter[]; inner: string[] } {
  if (input === "NoInput") return { parameters: [], inner: [] };
  const { schema } = declarations.all.find(({ name }) => name === input) ?? {};
  if (schema?.properties === undefined) throw new Error(`${input} is no record: its fields cannot be parameters`);
  const inner: { name: string; schema: object }[] = [];
  const parameters = Object.entries(schema.properties).map(([field, property]) => {
    const { text, isNullable } = annotationOf(property, `${input}${capitalised(field)}`, "input", inner as never);
    const isOptional = !schema.required?.includes(field) && !required.includes(field);
    return {
      name: snakeCase(field),
      wireName: field,
      text,
      isOptional,
      isNullable,
      description: descriptionOf(property),
    };
  });
  return { parameters, inner: inner.map(({ name }) => name) };
}

function printMethod(operation: Operation): string {
  const types = operationTypes.get(operation.procedurePath);
  if (types === undefined) throw new Error(`${operation.procedurePath} has no types`);
  const { path, method, listOf, type, takesKey, takesDryRun, hasNoOutput } = operation;
  const { parameters } = parametersOf(types.input, insisted[operation.procedurePath] ?? []);
  const inPath = parameters.filter(({ wireName }) => path.includes(`{${wireName}}`));
  const others = parameters.filter((parameter) => !inPath.includes(parameter));
  const sorted = [...others.filter(({ isOptional }) => !isOptional), ...others.filter(({ isOptional }) => isOptional)];
  const optionsType = takesDryRun ? "TryOptions" : takesKey ? "ChangeOptions" : "RequestOptions";
  const signature = [
    "self",
    ...inPath.map(printParameter),
    ...(sorted.length > 0 ? ["*", ...sorted.map(printParameter)] : []),
    `**options: Unpack[${optionsType}]`,
  ];
  const safety = type === "query" ? "read" : takesKey ? "keyed" : "unkeyed";
  const result = hasNoOutput ? "None" : types.output;
  const wait = parameters.some(({ name }) => name === "wait") ? ["wait_seconds=wait or 0"] : [];
  const send = (fields: string, indent: string) =>
    `self._transport.call(
${[
  JSON.stringify(method),
  JSON.stringify(path),
  fields,
  "options",
  JSON.stringify(safety),
  hasNoOutput ? "type(None)" : `records.${types.output}`,
  ...wait,
]
  .map((argument) => `${indent}    ${argument},`)
  .join("\n")}
${indent})`;
  const fields = printFields(parameters);
  const head = (returned: string) =>
    `(\n${signature.map((part) => `        ${part},`).join("\n")}\n    ) -> ${returned}:\n${printDocs(operation, parameters)}`;
  const name = snakeCase(operation.verb);
  if (listOf !== undefined) {
    const pages = `AsyncPages[${types.item}, ${types.output}]`;
    return `    def ${name}${head(pages)}
        async def read(fields: Mapping[str, object]) -> ${types.output}:
            return await ${send("fields", "            ")}

        return AsyncPages(read, ${fields}, ${JSON.stringify(snakeCase(listOf))})
`;
  }
  return `    async def ${name}${head(result)}        ${hasNoOutput ? "" : "return "}await ${send(fields, "        ")}\n`;
}

function printParameter({ name, text, isOptional, isNullable }: Parameter): string {
  if (!isOptional) return `${name}: ${text}${isNullable ? " | None" : ""}`;
  return isNullable ? `${name}: ${text} | None | NotGiven = NOT_GIVEN` : `${name}: ${text} | None = None`;
}

function printFields(parameters: Parameter[]): string {
  const always = parameters.filter(({ isOptional, isNullable }) => !isOptional || isNullable);
  const maybe = parameters.filter((parameter) => !always.includes(parameter));
  const parts = [
    ...always.map(({ name, wireName }) => `${JSON.stringify(wireName)}: ${name}`),
    ...(maybe.length > 0 ? [`**given(${maybe.map(({ name, wireName }) => `${wireName}=${name}`).join(", ")})`] : []),
  ];
  return parts.join(", ").length < 80
    ? `{${parts.join(", ")}}`
    : `{\n${parts.map((part) => `                ${part},`).join("\n")}\n            }`;
}

function printDocs(operation: Operation, parameters: Parameter[]): string {
  const { paragraphs, codes } = describeOperation(operation);
  const described = parameters.filter(({ description }) => description !== "");
  const list = described
    .map(({ name, description }) => `- \`${name}\`: ${description.replaceAll("\n", " ")}`)
    .join("\n");
  return docstring([...paragraphs, list, codes === "" ? "" : `Raises \`RebidError\`: ${codes}.`], "        ");
}
