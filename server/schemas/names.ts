import type { z } from "zod";

/** What a namespace's operations act on, where that is not the namespace in the singular. */
const nouns: Record<string, string> = { auth: "", keys: "ApiKey" };

const capitalized = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);

/**
 * Returns the name of a procedure's input, where its schema has no id: the verb, what follows it, and the noun.
 * `tasks.create` → `CreateTask`, `tasks.list` → `ListTasks`, `tasks.listOwn` → `ListOwnTasks`, `auth.signup` → `Signup`.
 */
function derivedName(procedurePath: string): string {
  const [namespace = "", procedure = ""] = procedurePath.split(".");
  const noun = nouns[namespace] ?? capitalized(namespace.replace(/s$/, ""));
  const isPlural = /^list(?![a-z])/.test(procedure) && noun !== "";
  return `${capitalized(procedure)}${noun}${isPlural ? "s" : ""}`;
}

/** Returns the id that a schema was given with `.meta({ id })`, looking through `.optional()`. */
function schemaIdOf(schema: z.core.$ZodType | undefined): string | undefined {
  if (schema === undefined) return undefined;
  const { id } = (schema as z.ZodType).meta() ?? {}; // every schema of zod's main package has it
  if (id !== undefined) return id;
  const { innerType } = schema._zod.def as { innerType?: z.core.$ZodType }; // only wrappers have one
  return schema._zod.def.type === "optional" ? schemaIdOf(innerType) : undefined;
}

/** The names of what goes into a procedure and comes out of it. */
export interface ProcedureNames {
  input: string;
  output: string;
}

/**
 * The one rule for the names of bodies, in the OpenAPI document and in the SDK: a schema's own id; otherwise the name derived
 * from the procedure's path, with `Response` behind it for the output. A procedure without input or output has no use for
 * that name.
 */
export function namesOf(
  procedurePath: string,
  { input, output }: { input?: z.core.$ZodType; output?: z.core.$ZodType },
): ProcedureNames {
  const inputName = schemaIdOf(input) ?? derivedName(procedurePath);
  return { input: inputName, output: schemaIdOf(output) ?? `${inputName}Response` };
}
