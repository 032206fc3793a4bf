import { Resolver } from "node:dns";
import { lookup as systemLookup } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import { EgressFailed } from "./egressErrors.ts";
import { bareHost } from "./publicAddress.ts";

/** Returns all addresses of a name; throws when it has none. */
export type ResolveName = (hostname: string) => Promise<string[]>;

/**
 * Resolves A and AAAA records with c-ares. `getaddrinfo` would occupy one of the four threads that hashing and file
 * access also need, so a few slow name servers could delay everybody. c-ares' queries also ignore the hosts file, which
 * is right for public names.
 */
export const resolvePublicName: ResolveName = async (hostname) => {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  const ask = (kind: "resolve4" | "resolve6") =>
    new Promise<string[]>((resolve, reject) => {
      resolver[kind](hostname, (error, addresses) => (error ? reject(error) : resolve(addresses)));
    });
  const answers = await Promise.allSettled([ask("resolve4"), ask("resolve6")]);
  const addresses = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  if (addresses.length === 0) throw new EgressFailed("The host's name does not resolve.");
  return addresses;
};

/** For development: also resolves `localhost` and names in the hosts file. */
export const resolveAnyName: ResolveName = async (hostname) =>
  (await systemLookup(hostname, { all: true })).map(({ address }) => address);

/** Returns a `lookup` for `net.connect` that checks every address, so that connections use only checked ones. */
export function checkedLookup(resolve: ResolveName, check: (addresses: string[]) => void): LookupFunction {
  return (hostname, options, done) => {
    resolve(bareHost(hostname))
      .then((addresses) => {
        check(addresses);
        const found = addresses.map((address) => ({ address, family: isIP(address) }));
        const [first] = found;
        if (first === undefined) throw new EgressFailed("The host's name does not resolve.");
        return options.all ? done(null, found) : done(null, first.address, first.family);
      })
      .catch((error: Error) => done(error, "", 4));
  };
}
