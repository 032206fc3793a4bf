import { removeFactor } from "../../auth/secondFactor.ts";
import { reinstateUser, suspendUser } from "../../market/accounts/suspension.ts";
import { recordAction } from "../../market/moderation/actions.ts";
import { findUsers, moderatedUserColumns } from "../../market/moderation/findUsers.ts";
import type { ModeratedUser } from "../../schemas/moderation.ts";
import type { Services } from "../../services.ts";
import { sql } from "../../store/connection.ts";
import { CommandFailure } from "../runCommand.ts";
import { dim, printable } from "../terminal.ts";

const PAGE_SIZE = 50;

/** Lists the newest users that `GET /users?query=` finds. */
export async function listUsers({ database }: Pick<Services, "database">, query: string): Promise<void> {
  const { rows, nextCursor } = await findUsers(database, { query, limit: PAGE_SIZE });
  for (const user of rows) console.log(describe(user));
  if (rows.length === 0) console.log("No user matches.");
  if (nextCursor !== null) console.log(`These are the newest ${PAGE_SIZE}; there are more.`);
}

/** Suspends a user, by the same code as `POST /users/{id}/suspend`. */
export async function suspend(services: Services, email: string, reason: string): Promise<void> {
  const { id: userId, suspendedAt } = await findByEmail(services, email);
  const user = await services.database.transaction((tx) =>
    suspendUser(tx, services, { userId, by: "operator", reason }),
  );
  console.log(`${nameOf(user)} ${suspendedAt === null ? "is now suspended" : "was already suspended"}.`);
}

/** Lifts a suspension, by the same code as `POST /users/{id}/reinstate`. */
export async function reinstate(services: Services, email: string, reason: string | undefined): Promise<void> {
  const { id: userId, suspendedAt } = await findByEmail(services, email);
  const user = await services.database.transaction((tx) =>
    reinstateUser(tx, services, { userId, by: "operator", reason }),
  );
  console.log(`${nameOf(user)} ${suspendedAt === null ? "was not suspended" : "is no longer suspended"}.`);
}

/** Removes the second factor of a user who has lost both the authenticator and the recovery codes. */
export async function removeSecondFactor(services: Services, email: string): Promise<void> {
  const user = await findByEmail(services, email);
  const removed = await services.database.transaction(async (tx) => {
    const existed = await removeFactor(tx, user.id);
    if (!existed) return false;
    await recordAction(tx, { action: "remove_second_factor", moderatorId: null, userId: user.id });
    tx.onCommit(() => services.securityLog.record("operator", "secondFactor.removed", { targetUserId: user.id }));
    return true;
  });
  console.log(`${nameOf(user)} ${removed ? "no longer has" : "did not have"} a second factor.`);
}

async function findByEmail({ database }: Pick<Services, "database">, email: string): Promise<ModeratedUser> {
  const [user] = await database.query<ModeratedUser>(sql`
    SELECT ${moderatedUserColumns} FROM users u WHERE u.email = ${email}`);
  if (!user) throw new CommandFailure(`No user has the email address ${email}.`);
  return user;
}

const nameOf = ({ displayName, email }: ModeratedUser) => `${printable(displayName)} <${email}>`;

function describe(user: ModeratedUser): string {
  const notes = [
    user.id,
    `since ${user.createdAt}`,
    ...(user.role === "moderator" ? ["moderator"] : []),
    ...(user.suspendedAt === null ? [] : [`suspended ${user.suspendedAt}`]),
  ];
  return `${nameOf(user)}  ${dim(notes.join(", "))}`;
}
