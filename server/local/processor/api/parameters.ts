import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import { invalidRequest, Refusal } from "../model/refusal.ts";
import { decode, type Form, type Schema } from "./form.ts";
import type { CallName, CallParameters } from "./parameterTypes.ts";

interface Schemas {
  apiVersion: string;
  calls: Record<CallName, Schema>;
  definitions: Record<string, Schema>;
}

// generateSchemas.ts generates this file from the SDK's types.
const schemas: Schemas = JSON.parse(readFileSync(join(import.meta.dirname, "schemas.json"), "utf8"));
const { definitions } = schemas;

/** The API version of the installed Stripe SDK. Any other version is refused. */
export const apiVersion = schemas.apiVersion;

// Compilation matters more than speed here: with these options a checkout session's 350 schemas take 90 ms, not 210 ms.
const ajv = new Ajv({
  allErrors: true,
  allowUnionTypes: true,
  validateSchema: false,
  inlineRefs: false,
  code: { optimize: false },
});

/** The parameters as sent: a form or, for v2 writes, a JSON body. */
export type RawParameters = { form: Form } | { json: unknown };

/**
 * Returns a function that validates the parameters of one call. It converts a form to the schema's types and, like
 * Stripe, refuses everything that the SDK's type does not allow: unknown or missing parameters, wrong types and values.
 */
export function parameterCheck<Name extends CallName>(name: Name): (raw: RawParameters) => CallParameters[Name] {
  let validate: ValidateFunction<CallParameters[Name]> | undefined;
  return (raw) => {
    // Compiled on first use, so that the start does not wait for schemas that may never be needed.
    validate ??= ajv.compile<CallParameters[Name]>({ ...schemas.calls[name], definitions });
    const parameters = "form" in raw ? decode(raw.form, schemas.calls[name], definitions) : raw.json;
    if (!validate(parameters)) throw refusalOf(validate.errors ?? [], name.includes(" /v2/"));
    return parameters;
  };
}

function refusalOf(errors: ErrorObject[], isV2: boolean): Refusal {
  // Each branch of a union reports errors. The most helpful is an unknown name, then a missing one, then a wrong type.
  const error =
    errors.find(({ keyword }) => keyword === "additionalProperties") ??
    errors.find(({ keyword }) => keyword === "required") ??
    errors[0];
  const { code, message, parameter } = describe(error);
  if (isV2) return new Refusal(400, { code: "invalid_fields", message });
  return code === undefined
    ? new Refusal(400, { message, param: parameter, type: "invalid_request_error" })
    : invalidRequest(code, message, parameter);
}

function describe(error: ErrorObject | undefined): { code?: string; message: string; parameter: string } {
  const path = error?.instancePath.split("/").slice(1) ?? [];
  const parameters = error?.params ?? {};
  switch (error?.keyword) {
    case "additionalProperties": {
      const parameter = bracketed([...path, String(parameters.additionalProperty)]);
      return { code: "parameter_unknown", message: `Received unknown parameter: ${parameter}`, parameter };
    }
    case "required": {
      const parameter = bracketed([...path, String(parameters.missingProperty)]);
      return { code: "parameter_missing", message: `Missing required param: ${parameter}.`, parameter };
    }
    case "enum":
    case "const": {
      const parameter = bracketed(path);
      const allowed = [parameters.allowedValues ?? parameters.allowedValue].flat().join(", ");
      return { message: `Invalid ${parameter}: must be one of ${allowed}`, parameter };
    }
    default: {
      const parameter = bracketed(path);
      const type = String(parameters.type ?? "value");
      const code = type === "integer" ? "parameter_invalid_integer" : undefined;
      return { ...(code === undefined ? {} : { code }), message: `Invalid ${type}: ${parameter}`, parameter };
    }
  }
}

function bracketed(path: string[]): string {
  const [first = "", ...rest] = path.map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  return first + rest.map((part) => `[${part}]`).join("");
}
