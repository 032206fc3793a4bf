import { version } from "./generated/version.ts";

/** What Node.js, Bun and Deno have, and a page does not, unless a bundler puts an empty one there. */
const { process, document } = globalThis as {
  process?: { env?: Record<string, string | undefined>; versions?: { node?: string } };
  document?: unknown;
};

/** A variable of the environment. An empty one counts as not set; in a page there is none. */
export const variable = (name: string): string | undefined => process?.env?.[name] || undefined;

const node = process?.versions?.node;

/** Browsers have their own, and would ask the service first whether another one is allowed. */
export const userAgent: string | undefined =
  node === undefined || document !== undefined ? undefined : `rebid-sdk/${version} node/${node}`;
