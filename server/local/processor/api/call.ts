import { invalidRequest } from "../model/refusal.ts";
import { nowSeconds, type World } from "../model/world.ts";
import { parameterCheck, type RawParameters } from "./parameters.ts";
import type { CallName, CallParameters } from "./parameterTypes.ts";

/** An API request with validated parameters. */
export interface Call<Parameters> {
  world: World;
  parameters: Parameters;
  /** The `:id` in the path; empty if the path has none. */
  id: string;
  /** The connected account in the `Stripe-Account` header, or the platform. */
  owner: string;
  /** Epoch seconds. */
  now: number;
}

export interface Route {
  method: string;
  pattern: RegExp;
  /** Validates the parameters. It runs before the execution, so its errors are not stored with the idempotency key. */
  prepare(raw: RawParameters): (request: { world: World; id: string; owner: string }) => unknown;
}

/**
 * Binds a call's handler to its path and the type of its parameters. `supported` lists the parameters that the handler
 * implements. Stripe's other parameters are refused rather than silently ignored.
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

/** Refuses parameters that Stripe has but this processor does not implement. */
export function requireSupported(parameters: object, supported: ReadonlySet<PropertyKey>): void {
  const other = Object.keys(parameters).find((name) => !supported.has(name));
  if (other === undefined) return;
  throw invalidRequest(
    "parameter_unsupported",
    `The embedded processor does not implement this parameter: ${other}`,
    other,
  );
}
