import { hash, verify } from "@node-rs/argon2";
import { ApiError } from "../errors.ts";

// argon2id with 19 MiB and 2 passes takes 18 ms of a core: two at a time, and a short queue before we say "busy".
const MAX_RUNNING = 2;
const MAX_WAITING = 256;
const options = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

let running = 0;
const waiting: (() => void)[] = [];

async function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
  if (running >= MAX_RUNNING) {
    if (waiting.length >= MAX_WAITING) throw new ApiError("unavailable");
    await new Promise<void>((resume) => waiting.push(resume));
  } else {
    running++;
  }
  try {
    return await work();
  } finally {
    const next = waiting.shift();
    if (next) next();
    else running--;
  }
}

export function hashPassword(password: string): Promise<string> {
  return inTurn(() => hash(password, options));
}

// The hash of something random that nobody kept, made with the options above, so that a login takes the same time whether
// or not the account exists. A constant, because a hash that is made here could fail, and would then fail for ever.
const unknownHash = "$argon2id$v=19$m=19456,t=2,p=1$y5DVx0wKeKR7rSD++Aktaw$dZiqzrcep9P670dkN8ist88rIDpaG2hCTxQDQAWTjMw";

/** `passwordHash` is null when there is no such account; the work is done all the same. */
export async function verifyPassword(passwordHash: string | null, password: string): Promise<boolean> {
  // A corrupt hash makes `verify` throw; it verifies nothing.
  const matches = await inTurn(() => verify(passwordHash ?? unknownHash, password).catch(() => false));
  return matches && passwordHash !== null;
}
