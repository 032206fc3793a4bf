import { readFile } from "node:fs/promises";
import * as sdk from "@rebid/sdk";
import { expect, test } from "vitest";
import { operations } from "../../client-sdk/generate/operations.ts";
import { snakeCase } from "../../client-sdk/generate/python/annotations.ts";
import { withoutAsync } from "../../client-sdk/generate/python/sync.ts";
import { ErrorBody, errorCatalogue } from "../../server/errors.ts";
import { logEventTypes } from "../../server/schemas/event.ts";

/** The clients are read as text: the suite needs no Python. */
const read = (path: string) => readFile(new URL(`../../client-sdk/${path}`, import.meta.url), "utf8");
const python = (file: string) => read(`python/src/rebid/${file}`);

/** The methods of every class in a file, as `TasksApi.create`. */
function methodsOf(source: string, classPattern: RegExp, methodPattern: RegExp): Set<string> {
  const methods = new Set<string>();
  let current = "";
  for (const line of source.split("\n")) {
    if (/^(async )?def /.test(line)) current = ""; // what is inside a function is no method
    current = classPattern.exec(line)?.[1] ?? current;
    const method = methodPattern.exec(line)?.[1];
    if (method !== undefined && current !== "" && !method.startsWith("_") && method !== "constructor")
      methods.add(`${current}.${method}`);
  }
  return methods;
}

const pythonMethods = (source: string) => methodsOf(source, /^class (?:Async)?(\w+)/, /^ {4}(?:async )?def (\w+)\(/);
const typescriptMethods = (source: string) =>
  methodsOf(source, /^export class (\w+)/, /^ {2}(?:async |override )*(\w+)[(<]/);
const inPython = (names: Iterable<string>) =>
  new Set([...names].map((name) => name.replace(/\.(\w+)$/, (_, verb: string) => `.${snakeCase(verb)}`)));

test("every operation is a method in both languages, with and without asyncio", async () => {
  const expected = new Set(
    operations
      .filter(({ type }) => type !== "subscription")
      .map(({ namespace, verb }) => `${namespace.charAt(0).toUpperCase()}${namespace.slice(1)}Api.${verb}`),
  );
  expect(typescriptMethods(await read("src/generated/namespaces.ts"))).toEqual(expected);
  for (const kind of ["_async", "_sync"]) {
    expect(pythonMethods(await python(`${kind}/namespaces.py`))).toEqual(inPython(expected));
  }
});

test("what is written by hand beside the operations is there in both languages", async () => {
  const files = await Promise.all(
    ["tasks", "bids", "messages", "events", "approvals"].map((name) => read(`src/${name}.ts`)),
  );
  const typescript = files.flatMap((source) => [...typescriptMethods(source)]);
  // These only narrow what is generated, which the generator does in Python.
  const narrowed = ["Tasks.award", "Events.list"];
  const expected = inPython(typescript.filter((name) => !narrowed.includes(name)));
  expect(pythonMethods(await python("_async/resources.py"))).toEqual(expected);
  // Type checkers would see the class that is generated.
  const generated = await python("_async/namespaces.py");
  for (const name of ["tasks", "bids", "messages", "events", "approvals"])
    expect(generated).not.toContain(`self.${name} = `);
});

test("the client without asyncio is derived from the other one", async () => {
  for (const name of ["client", "follow", "namespaces", "pages", "resources", "transport"]) {
    const derived = await python(`_sync/${name}.py`);
    expect(derived).toContain(withoutAsync(await python(`_async/${name}.py`)));
    expect(derived).not.toMatch(/\b(async|await|asyncio)\b/);
  }
});

test("both languages have the same classes of errors, codes, and details", async () => {
  const classes = Object.keys(sdk).filter((name) => /Error$/.test(name));
  const exported = /__all__ = \[([^\]]*)\]/.exec(await python("__init__.py"))?.[1] ?? "";
  expect(exported.match(/\w+Error(?=")/g)?.toSorted()).toEqual(classes.toSorted());

  const types = await python("types.py");
  const codes = /^ErrorCode: TypeAlias = Literal\[([^\]]*)\]/m.exec(types)?.[1];
  expect(codes?.match(/\w+/g)).toEqual(Object.keys(errorCatalogue));

  const common = ["error", "message", "requestId", "issues"];
  const details = Object.keys(ErrorBody.shape).filter((name) => !common.includes(name));
  const fields = await python("_error_fields.py");
  expect(fields.match(/(?<=def )\w+/g)).toEqual(details.map(snakeCase));
  const error = new sdk.RebidError({ status: 409, headers: new Headers(), body: {} });
  expect(Object.keys(error)).toEqual(expect.arrayContaining(details));
});

test("both languages know every type of event", async () => {
  const types = await python("types.py");
  const known = /^LogEventType: TypeAlias = Literal\[([^\]]*)\]/m.exec(types)?.[1];
  expect(known?.match(/[\w.]+/g)).toEqual([...logEventTypes]);
  const tags = /^_event_tags[^{]*\{([^}]*)\}/m.exec(types)?.[1];
  expect(tags?.match(/[\w.]+(?=":)/g)?.toSorted()).toEqual([...logEventTypes].toSorted());
  expect(await read("src/generated/types.ts")).toContain(`export type LogEventType =\n  | "${logEventTypes[0]}"`);
});

/** What an option of TypeScript is called in Python. Python programs have other means for those without a name. */
const optionNames: Record<string, string | undefined> = {
  signal: undefined, // a task of asyncio is cancelled
  credentials: undefined, // of browsers
  logger: undefined, // the module `logging`
  logLevel: undefined,
  timing: undefined, // for tests
  timeoutMs: "timeout",
  fetch: "http_client",
};
const optionInPython = (name: string) => (name in optionNames ? optionNames[name] : snakeCase(name));

function fieldsOf(source: string, pattern: RegExp): string[] {
  const [, body = ""] = pattern.exec(source) ?? [];
  return [...body.matchAll(/^ +(\w+)\??: /gm)].map(([, name = ""]) => name);
}

test("both languages have the same options of calls and of the client", async () => {
  const typescript = await read("src/options.ts");
  const options = await python("_options.py");
  for (const name of ["RequestOptions", "ChangeOptions", "TryOptions"]) {
    const expected = fieldsOf(typescript, new RegExp(`interface ${name} [^{]*\\{([^}]*)\\}`));
    const found = fieldsOf(options, new RegExp(`class ${name}\\(([^]*?)\\nclass `));
    expect([name, found.toSorted()]).toEqual([
      name,
      expected
        .map(optionInPython)
        .filter((option) => option !== undefined)
        .toSorted(),
    ]);
  }
  const client = fieldsOf(typescript, /interface RebidOptions \{([^}]*)\}/).map(optionInPython);
  const parameters = fieldsOf(await python("_sync/client.py"), /def __init__\(([^)]*)\)/);
  expect(parameters.toSorted()).toEqual(client.filter((option) => option !== undefined).toSorted());
});
