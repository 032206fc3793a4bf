import { ApiError } from "../errors.ts";
import { type Connection, sql } from "../store/connection.ts";
import type { Origin } from "./fairQueue.ts";
import { verifyPassword } from "./passwords.ts";

/**
 * Checks the password of a user who is signed in already, before a change that a stolen session must not make. Throws
 * `invalid_credentials`.
 */
export async function assertPassword(
  connection: Connection,
  userId: string,
  password: string,
  client: Omit<Origin, "account">,
): Promise<void> {
  const [user] = await connection.query<{ passwordHash: string }>(sql`
    SELECT password_hash AS "passwordHash" FROM users WHERE id = ${userId}::uuid`);
  const origin = { address: client.address, hasLeft: () => client.hasLeft(), account: userId };
  if (!(await verifyPassword(user?.passwordHash ?? null, password, origin))) {
    throw new ApiError("invalid_credentials", { message: "The password is wrong." });
  }
}
