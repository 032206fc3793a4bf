import { ApiError } from "../errors.ts";
import { type Connection, sql } from "../store/connection.ts";
import { type Requester, verifyPassword } from "./passwords.ts";
import type { Principal } from "./principal.ts";
import type { SecurityLog } from "./securityLog.ts";

/** A user who is signed in; a procedure's context is one. */
interface SignedIn {
  readonly database: Connection;
  readonly userId: string;
  readonly principal: Principal;
  readonly client: Omit<Requester, "account">;
  readonly requestId: string;
  readonly securityLog: SecurityLog;
}

/**
 * Checks the password of a user who is signed in already, before a change that a stolen session must not make. Returns its
 * hash. Throws `invalid_credentials`.
 */
export async function assertPassword(caller: SignedIn, password: string): Promise<string> {
  const { database, userId, client, securityLog } = caller;
  const [user] = await database.query<{ passwordHash: string }>(sql`
    SELECT password_hash AS "passwordHash" FROM users WHERE id = ${userId}::uuid`);
  if (user && (await verifyPassword(user.passwordHash, password, { ...client, account: userId })))
    return user.passwordHash;
  securityLog.refuse(caller, "login.failed", { reason: "wrong current password" });
  throw new ApiError("invalid_credentials", { message: "The password is wrong." });
}
