export type Method = "GET" | "POST" | "PATCH" | "DELETE";

/** Returns the address in front of every path: without a slash at its end. Throws a TypeError if it cannot be one. */
export function baseUrlOf(text: string): string {
  const { protocol, origin, pathname, username, password, search, hash } = parseUrl(text);
  if (protocol !== "https:" && protocol !== "http:")
    throw new TypeError("`baseUrl` must begin with https:// or http://.");
  if (username + password + search + hash !== "")
    throw new TypeError("`baseUrl` must have no user, password, query or fragment.");
  return origin + pathname.replace(/\/+$/, "");
}

function parseUrl(text: string): URL {
  try {
    return new URL(text);
  } catch {
    throw new TypeError("`baseUrl` must be an address, such as https://rebid.example.");
  }
}

/** What a method of a namespace asks for, before it is put on the wire. */
export interface Target {
  /** Relative to `baseUrl`, with the query. */
  path: string;
  /** JSON; undefined without a body. */
  body: string | undefined;
}

/**
 * Spreads an input over path, query and body. Throws a TypeError for an id that would lead to another path: what comes from
 * elsewhere, such as a link, may be anything.
 */
export function targetOf(method: Method, template: string, input: object): Target {
  // Behind the address of the service, `@example.com` would be another host.
  if (!template.startsWith("/"))
    throw new TypeError(`The path must begin with a slash, not ${JSON.stringify(template)}.`);
  const fields = new Map(Object.entries(input).filter(([, value]) => value !== undefined));
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value: unknown = fields.get(name);
    fields.delete(name);
    if (typeof value !== "string" || value === "" || /^\.{1,2}$/.test(value)) {
      throw new TypeError(`\`${name}\` must be an id, not ${JSON.stringify(value)}.`);
    }
    // Half of a surrogate pair cannot be encoded. `URLSearchParams` and `fetch` replace it so; the service refuses the id.
    return encodeURIComponent(value.replace(/\p{Surrogate}/gu, "\ufffd"));
  });
  if (fields.size === 0) return { path, body: undefined };
  if (method !== "GET") return { path, body: JSON.stringify(Object.fromEntries(fields)) };
  const query = new URLSearchParams([...fields].map(([name, value]): [string, string] => [name, String(value)]));
  return { path: `${path}?${query}`, body: undefined };
}
