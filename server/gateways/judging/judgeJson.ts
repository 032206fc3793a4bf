import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import { RE2JS } from "re2js";
import type { Verdict } from "../../schemas/checkResult.ts";
import { failed, passed, quoted } from "./verdict.ts";

/** Takes the place of `RegExp`, which takes exponential time for some patterns. */
function linearPattern(pattern: string) {
  const compiled = RE2JS.compile(pattern);
  // ajv tells patterns apart by their text.
  return { test: (text: string) => compiled.matcher(text).find(), toString: () => pattern };
}
/** Names the engine in code that ajv would print, and does not. */
linearPattern.code = "linearPattern";

/** Throws if the schema is none. It never reads another document: what a schema refers to must be in it. */
export function compileSchema(schema: Record<string, unknown>): ValidateFunction {
  return new Ajv2020({
    // As 2020-12 says: unknown keywords and formats are notes.
    ...{ strict: false, validateFormats: false, logger: false, addUsedSchema: false },
    // Copies of what is referred to would make a small schema a large program.
    ...{ inlineRefs: false, code: { regExp: linearPattern } },
  }).compile(schema);
}

export function judgeJson(text: string, { schema }: { schema: Record<string, unknown> }): Verdict {
  const validate = compileSchema(schema);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return failed("The file is not one JSON text.");
  }
  if (validate(value)) return passed("The JSON fits the schema.");
  return failed(`The JSON does not fit the schema: ${faultOf(validate.errors?.[0])}.`);
}

function faultOf(error: ErrorObject | undefined): string {
  const at = error?.instancePath ? `at ${quoted(error.instancePath)} ` : "";
  return `${at}it ${quoted(error?.message ?? "must be valid").slice(1, -1)}`;
}
