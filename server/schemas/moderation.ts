import { z } from "zod";
import { Id, Person, Timestamp, text } from "./common.ts";

/** A user as moderators see one. */
export const ModeratedUser = z
  .object({
    id: Id,
    email: z.string(),
    displayName: z.string(),
    role: z.enum(["member", "moderator"]),
    suspendedAt: Timestamp.nullable(),
    emailVerifiedAt: Timestamp.nullable(),
    createdAt: Timestamp,
  })
  .meta({ id: "ModeratedUser" });
export type ModeratedUser = z.infer<typeof ModeratedUser>;

const moderationActions = [
  "resolve_dispute",
  "suspend_user",
  "reinstate_user",
  "add_moderator",
  "remove_moderator",
  "remove_second_factor",
] as const;

/** What a moderator, or an operator at the command line, did. */
export const ModerationAction = z
  .object({
    id: Id,
    action: z.enum(moderationActions),
    moderator: Person.nullable().meta({ description: "Null for an operator at the command line." }),
    user: Person.nullable().meta({ description: "On whom; null for a dispute." }),
    disputeId: Id.nullable(),
    reason: z.string().nullable(),
    createdAt: Timestamp,
  })
  .meta({ id: "ModerationAction" });
export type ModerationAction = z.infer<typeof ModerationAction>;

/** Why a user is suspended or reinstated. Only moderators see it, and its user in their export. */
export const Reason = text(1, 2_000).meta({ example: "Posts the same task from several accounts." });
