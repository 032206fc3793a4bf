import pg from "pg";
import { z } from "zod";
import { ApiError, type ErrorCode } from "../errors.ts";
import { cursorLists, feedConstraintOf } from "./cursorLists.ts";

const SERIALIZATION_FAILURE = "40001";
const DEADLOCK_DETECTED = "40P01";
const UNIQUE_VIOLATION = "23505";
const CHECK_VIOLATION = "23514";

/** A violation means that two rows got the same timestamp by chance; the next attempt gets another one. */
const feedConstraints = new Set(Object.values(cursorLists).map(({ table }) => feedConstraintOf(table)));

/** True if the transaction failed by chance and may succeed when it runs again. */
export function isRetryable(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError)) return false;
  if (error.code === SERIALIZATION_FAILURE || error.code === DEADLOCK_DETECTED) return true;
  return error.code === UNIQUE_VIOLATION && feedConstraints.has(error.constraint ?? "");
}

/** The name of the unique constraint that a statement of `query` violated, or null for any other error. */
export function violatedUniqueConstraint(error: unknown): string | null {
  return error instanceof pg.DatabaseError && error.code === UNIQUE_VIOLATION ? (error.constraint ?? null) : null;
}

/** The name of the check that a statement of `query` violated, or null for any other error. */
export function violatedCheck(error: unknown): string | null {
  return error instanceof pg.DatabaseError && error.code === CHECK_VIOLATION ? (error.constraint ?? null) : null;
}

/** The ledger refused a movement of `neededCents` because a bucket would have become negative. */
export class Overdraft extends Error {
  override readonly name = "Overdraft";
  readonly neededCents: number;

  constructor(neededCents: number, cause: unknown) {
    super(`a bucket has less than ${neededCents} cents`, { cause });
    this.neededCents = neededCents;
  }
}

/** For `.catch` of a movement: rethrows the database's refusal as an `Overdraft`, and everything else as it is. */
export function asOverdraft(neededCents: number) {
  return (error: unknown): never => {
    const violated = violatedCheck(error);
    const isOverdraft = violated === "wallets_available_not_negative" || violated === "wallets_held_not_negative";
    throw isOverdraft ? new Overdraft(neededCents, error) : error;
  };
}

/** For `.catch`: rethrows a violation of this unique constraint as the error that the API documents for it. */
export function refuseDuplicate(constraint: string, code: ErrorCode) {
  return (error: unknown): never => {
    throw violatedUniqueConstraint(error) === constraint ? new ApiError(code) : error;
  };
}

const connectionCodes = new Set(["ECONNREFUSED", "ECONNRESET", "EPIPE", "ETIMEDOUT", "ENOTFOUND"]);
/** Prisma's codes: unreachable, connection timeout, operation timeout, connection closed, pool timeout, too many connections. */
const prismaConnectionCodes = new Set(["P1001", "P1002", "P1008", "P1017", "P2024", "P2037"]);

/**
 * SQLSTATEs of a database that cannot answer now: shutting down or starting (57P0x), out of connections, connection lost
 * (08xxx), a timeout of a lock, of a statement, and of an idle transaction, and a standby that is becoming the primary and
 * still refuses to write (25006).
 */
const unavailableStates = /^(57P0.|53300|08...|55P03|57014|25P03|25006)$/;

const unavailableMessages = [
  "Connection terminated",
  "timeout exceeded when trying to connect",
  "Client has encountered a connection error",
  "Query read timeout",
];

/** True if the server did not answer in time, neither to a statement nor to an attempt to connect. */
export function isServerSilent(error: unknown): boolean {
  return (
    error instanceof Error &&
    /^(Query read timeout|timeout e|Connection terminated due to connection timeout)/.test(error.message)
  );
}

/** The SQLSTATE in the error of a raw statement of Prisma's, which does not pass on the driver's own error. */
const PrismaFailure = z.object({
  meta: z.object({ driverAdapterError: z.object({ cause: z.object({ originalCode: z.string() }) }) }),
});

/**
 * True if the database cannot answer now: connection lost or refused, starting, shutting down, out of connections, or a
 * lock or a statement took too long.
 */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(isDatabaseUnavailable);
  if (!(error instanceof Error)) return false;
  // Prisma keeps the driver's error as its cause, or only repeats its message or its code.
  if (error.name.startsWith("PrismaClient")) {
    if (isDatabaseUnavailable(error.cause) || /closed the connection/.test(error.message)) return true;
    const failure = PrismaFailure.safeParse(error);
    if (failure.success && unavailableStates.test(failure.data.meta.driverAdapterError.cause.originalCode)) return true;
  }
  if (error instanceof pg.DatabaseError) return unavailableStates.test(error.code ?? "");
  const { code } = error as NodeJS.ErrnoException;
  return (
    connectionCodes.has(code ?? "") ||
    prismaConnectionCodes.has(code ?? "") ||
    unavailableMessages.some((message) => error.message.startsWith(message))
  );
}
