import { hash, verify } from "@node-rs/argon2";
import pLimit from "p-limit";
import { ApiError } from "../errors.ts";

// argon2id with 19 MiB and 2 passes takes 18 ms of a core.
const MAX_RUNNING = 2;
const MAX_WAITING = 256;
const options = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

const limit = pLimit(MAX_RUNNING);

/** Throws `unavailable` when the queue is full: a longer queue would only make every login slow. */
async function queued<Result>(work: () => Promise<Result>): Promise<Result> {
  if (limit.pendingCount >= MAX_WAITING) throw new ApiError("unavailable");
  return limit(work);
}

/** Returns the argon2id hash in its standard text form. Throws `unavailable` when the queue is full. */
export function hashPassword(password: string): Promise<string> {
  return queued(() => hash(password, options));
}

// The hash of a random password that was not kept, computed with the options above, so that a login takes the same time
// whether or not the account exists. A constant, because hashing at startup could fail, and every login would fail after it.
const unknownHash = "$argon2id$v=19$m=19456,t=2,p=1$y5DVx0wKeKR7rSD++Aktaw$dZiqzrcep9P670dkN8ist88rIDpaG2hCTxQDQAWTjMw";

/**
 * Returns whether the password matches. For an unknown account, `passwordHash` is null: the result is false, after the same
 * time. Throws `unavailable` when the queue is full.
 */
export async function verifyPassword(passwordHash: string | null, password: string): Promise<boolean> {
  // `verify` throws on a corrupt hash, which matches no password.
  const matches = await queued(() => verify(passwordHash ?? unknownHash, password).catch(() => false));
  return matches && passwordHash !== null;
}
