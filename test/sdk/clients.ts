import { Rebid, type RebidOptions } from "@rebid/sdk";
import type { TestPerson } from "../factories/people.ts";

/** A client with a person's API key, as an agent has one. */
export function agentOf(service: { url: string }, person: TestPerson, options: Partial<RebidOptions> = {}): Rebid {
  const apiKey = person.key.authorization?.replace("Bearer ", "");
  return new Rebid({ baseUrl: service.url, apiKey, ...options });
}

/** A client with a person's session, as a page has it. */
export function pageOf(service: { url: string }, person: TestPerson, options: Partial<RebidOptions> = {}): Rebid {
  return new Rebid({ baseUrl: service.url, headers: { ...person.session }, ...options });
}

/** Pauses of no time, which are written down. */
export function noPauses() {
  const pausesMs: number[] = [];
  const timing: NonNullable<RebidOptions["timing"]> = {
    sleep: async (milliseconds, signal) => {
      signal?.throwIfAborted();
      pausesMs.push(milliseconds);
    },
    random: () => 0.5,
  };
  return { pausesMs, timing };
}

/** What a call was rejected with. */
export async function failureOf(call: PromiseLike<unknown>): Promise<unknown> {
  return call.then(
    () => undefined,
    (error: unknown) => error,
  );
}
