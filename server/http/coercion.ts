import type { AnyRouter } from "@trpc/server";
import { z } from "zod";

type Definition = z.core.$ZodTypeDef & Record<string, unknown>;

/**
 * trpc-to-openapi 3.3.0 sets `coerce` on the numbers, booleans, bigints and dates of an input when REST first calls it,
 * for good and for typed RPC too: `null` would become 0 and `"5"` 5. This makes `coerce` unchangeable before that.
 */
export function forbidCoercion(router: AnyRouter): void {
  const seen = new Set<unknown>();
  const rest: unknown[] = Object.values(router._def.procedures).flatMap((procedure) => inputsOf(procedure));
  while (rest.length > 0) {
    const schema = rest.pop();
    if (seen.has(schema)) continue;
    seen.add(schema);
    if (schema instanceof z.core.$ZodType) {
      const definition: Definition = schema._zod.def as Definition; // zod types each kind's definition apart
      // Once is enough, and a second service in the same process shares the schemas.
      const isLocked = Object.getOwnPropertyDescriptor(definition, "coerce")?.get !== undefined;
      if (!isLocked) Object.defineProperty(definition, "coerce", { get: () => false, set: () => {} });
      rest.push(...Object.values(definition));
    } else if (typeof schema === "object" && schema !== null) {
      rest.push(...Object.values(schema));
    }
  }
}

/** The zod schemas of a procedure's input. tRPC keeps them, but does not type them. */
export function inputsOf(procedure: unknown): z.core.$ZodType[] {
  const { inputs } = (procedure as { _def: { inputs: unknown[] } })._def;
  return inputs.filter((input) => input instanceof z.core.$ZodType);
}
