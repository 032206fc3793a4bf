import { documentOperation } from "./documentation.ts";
import { namespaces, type Operation, operations } from "./operations.ts";
import { operationTypes } from "./types.ts";

/** The file with a class for each namespace, which has a method for each of its procedures. */
export function printNamespaces(): string {
  const classes = namespaces.map(printNamespace).join("\n");
  const names = (pattern: RegExp) => [...new Set(classes.match(pattern))];
  const local = [
    ["../call.ts", ["Call"]],
    ["../list.ts", ["List"]],
    ["../options.ts", ["ChangeOptions", "RequestOptions", "TryOptions"]],
  ] as const;
  const types = new Set([...operationTypes.values()].flatMap(({ input, output, item }) => [input, output, item ?? ""]));
  const used = [...types].filter(
    (name) => /^[A-Z]\w+$/.test(name) && names(new RegExp(`\\b${name}\\b`, "g")).length > 0,
  );
  return `${local.map(([from, list]) => `import type { ${list.join(", ")} } from "${from}";`).join("\n")}
import { Namespace } from "../requests.ts";
import type { ${used.toSorted().join(", ")} } from "./types.ts";

${classes}`;
}

/** The classes that a namespace of the router is called after. A hand-written class of `src/` can extend one. */
const className = (namespace: string): string => `${namespace.charAt(0).toUpperCase()}${namespace.slice(1)}Api`;

function printNamespace(namespace: string): string {
  // A stream is not one answer: `events.follow`, which is written by hand, reads it.
  const own = operations.filter((operation) => operation.namespace === namespace && operation.type !== "subscription");
  return `export class ${className(namespace)} extends Namespace {
${own.map(printMethod).join("\n")}}
`;
}

function printMethod(operation: Operation): string {
  const types = operationTypes.get(operation.procedurePath);
  if (types === undefined) throw new Error(`${operation.procedurePath} has no types`);
  const { verb, path, method, takesNoInput, mayOmitInput, listOf, type } = operation;
  const input = takesNoInput ? "" : `input: ${types.input}${mayOmitInput ? " = {}" : ""}, `;
  const options = `options: ${optionsOf(operation)} = {}`;
  const argument = takesNoInput ? "{}" : "input";
  const target = JSON.stringify(path);
  const isList = listOf !== undefined;
  const call = isList
    ? `this.requests.readList(${target}, ${JSON.stringify(listOf)}, input, options)`
    : type === "query"
      ? `this.requests.read(${target}, ${argument}, options)`
      : `this.requests.${operation.takesKey ? "change" : "changeUnkeyed"}("${method}", ${target}, ${argument}, options)`;
  const result = isList ? `List<${types.item}, ${types.output}>` : `Call<${types.output}>`;
  return `${documentOperation(operation)}${verb}(${input}${options}): ${result} {
    return ${call};
  }
`;
}

function optionsOf({ takesKey, takesDryRun }: Operation): string {
  if (takesDryRun) return "TryOptions";
  return takesKey ? "ChangeOptions" : "RequestOptions";
}
