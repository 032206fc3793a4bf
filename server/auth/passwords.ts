import argon2 from "@node-rs/argon2";
import { Turns } from "../turns.ts";

// argon2id with 19 MiB and 2 passes takes 18 ms of a core.
const options = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

// A longer queue would only make every login slow: 512 take about 5 s on two cores. After 3 s, half of it has been worked off.
const turns = new Turns({ running: 2, waiting: 512, waitingPerKey: 256, retryAfterSeconds: 3 });

/** Whose work it is: turns alternate between addresses, and between the accounts of an address. */
export interface Requester {
  readonly address: string;
  readonly account: string;
  /** Aborts when nobody waits for the result: work that has not begun is then skipped. */
  readonly left?: AbortSignal;
}

/** Commands hash for nobody else. */
const local: Requester = { address: "local", account: "" };

function queued<Result>({ address, account, left }: Requester, work: () => Promise<Result>): Promise<Result> {
  return turns.run({ key: address, part: account, signal: left }, work);
}

/** Returns the argon2id hash of the password's composed form, as text. Throws `unavailable` when the queue is full. */
export function hashPassword(password: string, requester: Requester = local): Promise<string> {
  return queued(requester, () => argon2.hash(password.normalize("NFC"), options));
}

// The hash of a random password that was not kept, computed with the options above, so that a login takes the same time
// whether or not the account exists. A constant, because hashing at startup could fail, and every login would fail after it.
const unknownHash = "$argon2id$v=19$m=19456,t=2,p=1$y5DVx0wKeKR7rSD++Aktaw$dZiqzrcep9P670dkN8ist88rIDpaG2hCTxQDQAWTjMw";

/**
 * Returns whether the password matches, in its composed form (NFC) or as it was typed: hashes were once made of the latter.
 * For an unknown account, `passwordHash` is null: the result is false, after the same time. Throws `unavailable` when the
 * queue is full.
 */
export async function verifyPassword(
  passwordHash: string | null,
  password: string,
  requester: Requester = local,
): Promise<boolean> {
  // `verify` throws on a corrupt hash, which matches no password.
  const verify = (form: string) => argon2.verify(passwordHash ?? unknownHash, form).catch(() => false);
  const composed = password.normalize("NFC");
  // One turn for both forms. How long it takes tells only which form was sent.
  const matches = await queued(
    requester,
    async () => (await verify(composed)) || (composed !== password && (await verify(password))),
  );
  return matches && passwordHash !== null;
}
