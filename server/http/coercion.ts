import type { AnyRouter } from "@trpc/server";
import { z } from "zod";

type Definition = z.core.$ZodTypeDef & Record<string, unknown>;

/**
 * Makes `coerce` read-only in the schemas of all inputs. At the first REST call, trpc-to-openapi 3.3.0 sets it on numbers,
 * booleans, bigints and dates, permanently and for tRPC too: `null` would become 0, and `"5"` would become 5.
 */
export function forbidCoercion(router: AnyRouter): void {
  const seen = new Set<unknown>();
  const rest: unknown[] = Object.values(router._def.procedures).flatMap((procedure) => inputsOf(procedure));
  while (rest.length > 0) {
    const schema = rest.pop();
    if (seen.has(schema)) continue;
    seen.add(schema);
    if (schema instanceof z.core.$ZodType) {
      const definition: Definition = schema._zod.def as Definition; // zod has a type for each kind of definition only
      // A second service in the same process shares the schemas, which are locked already.
      const isLocked = Object.getOwnPropertyDescriptor(definition, "coerce")?.get !== undefined;
      if (!isLocked) Object.defineProperty(definition, "coerce", { get: () => false, set: () => {} });
      rest.push(...Object.values(definition));
    } else if (typeof schema === "object" && schema !== null) {
      rest.push(...Object.values(schema));
    }
  }
}

/** Returns the zod schemas of a procedure's input. tRPC keeps them, but has no type for them. */
export function inputsOf(procedure: unknown): z.core.$ZodType[] {
  const { inputs } = (procedure as { _def: { inputs: unknown[] } })._def;
  return inputs.filter((input) => input instanceof z.core.$ZodType);
}
