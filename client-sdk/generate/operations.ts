import { z } from "zod";
import { inputsOf } from "../../server/http/coercion.ts";
import { collectRoutes, type Route, tagOf } from "../../server/http/routes.ts";
import { definitionOf, takesDryRun, takesIdempotencyKey } from "../../server/meta.ts";
import { appRouter } from "../../server/procedures/router.ts";

/** One procedure, as the generated code needs it. */
export interface Operation extends Route {
  namespace: string;
  verb: string;
  input: z.ZodType;
  /** Undefined for a subscription. */
  output: z.ZodType | undefined;
  takesNoInput: boolean;
  mayOmitInput: boolean;
  hasNoOutput: boolean;
  takesKey: boolean;
  takesDryRun: boolean;
  /** The name of the array in the output, for a list with a cursor. */
  listOf: string | undefined;
}

/** Every procedure of the router, in its order, with those that only a service with embedded services has. */
export const operations: readonly Operation[] = collectRoutes(appRouter._def.procedures, { embedded: true }).map(
  (route) => {
    const procedure: unknown = Object.entries(appRouter._def.procedures).find(
      ([name]) => name === route.procedurePath,
    )?.[1];
    const [input, ...others] = inputsOf(procedure);
    if (!(input instanceof z.ZodType) || others.length > 0)
      throw new Error(`${route.procedurePath} needs one input schema`);
    const { output } = definitionOf(procedure) as { output?: unknown };
    if (route.type !== "subscription" && !(output instanceof z.ZodType)) {
      throw new Error(`${route.procedurePath} has no output schema`);
    }
    const object = input instanceof z.ZodOptional ? input.unwrap() : input;
    const fields = object instanceof z.ZodObject ? Object.keys(object.shape) : [];
    return {
      ...route,
      namespace: tagOf(route),
      verb: route.procedurePath.slice(tagOf(route).length + 1),
      input,
      output: output instanceof z.ZodType ? output : undefined,
      takesNoInput: fields.length === 0,
      mayOmitInput: input.safeParse({}).success,
      hasNoOutput: output instanceof z.ZodVoid,
      takesKey: takesIdempotencyKey(route.meta),
      takesDryRun: takesDryRun(route.meta),
      listOf: fields.includes("cursor") ? listIn(output) : undefined,
    };
  },
);

export const namespaces: readonly string[] = [...new Set(operations.map(({ namespace }) => namespace))];

function listIn(output: unknown): string | undefined {
  if (!(output instanceof z.ZodObject) || !("nextCursor" in output.shape)) return undefined;
  const arrays = Object.entries(output.shape).filter(([, schema]) => schema instanceof z.ZodArray);
  return arrays.length === 1 ? arrays[0]?.[0] : undefined;
}
