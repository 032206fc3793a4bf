import { z } from "zod";
import type { Choice } from "../model/choices.ts";
import { Refusal } from "../model/refusal.ts";
import type { World } from "../model/world.ts";

/** A call of the test API. `path` may contain `:id`, and `run` validates the body. */
export interface TestCall {
  method: string;
  path: string;
  description: string;
  run(world: World, id: string, body: unknown): unknown;
}

/** Defines a call, for example `POST /test/payouts/:id/fail`. It runs in a transaction, with a validated body. */
export function testCall<Body extends z.ZodType>(
  name: string,
  description: string,
  body: Body,
  run: (world: World, id: string, body: z.infer<Body>) => unknown,
): TestCall {
  const [method = "", path = ""] = name.split(" ");
  return {
    method,
    path,
    description,
    run(world, id, raw) {
      const checked = body.safeParse(raw);
      if (!checked.success) throw new Refusal(400, { message: z.prettifyError(checked.error) });
      return world.store.transaction(() => run(world, id, checked.data));
    },
  };
}

/** A schema that accepts the names in a table. */
export function nameOf<const Name extends string>(table: readonly (Choice & { name: Name })[]) {
  return z.enum(table.map(({ name }) => name));
}
