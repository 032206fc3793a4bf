import { parameterCheck, type RawParameters } from "./parameters.ts";
import type { CallName, CallParameters } from "./parameterTypes.ts";
import { invalidRequest } from "../model/refusal.ts";
import { nowSeconds, type World } from "../model/world.ts";

/** One API request, after its parameters were checked. */
export interface Call<Parameters> {
  world: World;
  parameters: Parameters;
  /** The `:id` in the path; empty where there is none. */
  id: string;
  /** The connected account named by `Stripe-Account`, or the platform. */
  owner: string;
  /** Epoch seconds. */
  now: number;
}

export interface Route {
  method: string;
  pattern: RegExp;
  /** Checks the parameters alone. What it refuses was never begun, so no idempotency key remembers it. */
  prepare(raw: RawParameters): (request: { world: World; id: string; owner: string }) => unknown;
}

/**
 * Binds the handler of one call to its path and its parameters' type. `supported` names the parameters that the handler
 * really heeds: one that Stripe knows but this processor does not is refused, never silently ignored.
 */
export function route<Name extends CallName>(
  name: Name,
  supported: readonly (keyof CallParameters[Name])[],
  handle: (call: Call<CallParameters[Name]>) => unknown,
): Route {
  const [method = "", path = ""] = name.split(" ");
  const check = parameterCheck(name);
  const supportedNames = new Set<PropertyKey>(supported);
  return {
    method,
    pattern: new RegExp(`^${path.replace(":id", "([^/]+)")}$`),
    prepare(raw) {
      const parameters = check(raw);
      requireSupported(parameters, supportedNames);
      return ({ world, id, owner }) => handle({ world, parameters, id, owner, now: nowSeconds(world) });
    },
  };
}

/** Refuses parameters that exist at Stripe, but do nothing here. */
export function requireSupported(parameters: object, supported: ReadonlySet<PropertyKey>): void {
  const other = Object.keys(parameters).find((name) => !supported.has(name));
  if (other === undefined) return;
  throw invalidRequest(
    "parameter_unsupported",
    `The embedded processor does not implement this parameter: ${other}`,
    other,
  );
}
