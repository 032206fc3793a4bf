import { z } from "zod";
import { Id, idOf, Person, Timestamp, text } from "./common.ts";

/** A user as moderators see one. */
export const ModeratedUser = z
  .object({
    id: idOf("user"),
    email: z.string().meta({ description: "In its canonical form.", format: "email", example: "ada@example.com" }),
    displayName: z.string().meta({ description: "The name that the user has chosen.", example: "Ada" }),
    role: z.enum(["member", "moderator"]).meta({ description: "Moderators are users with more rights." }),
    suspendedAt: Timestamp.nullable().meta({ description: "Since when the user is suspended.", example: null }),
    emailVerifiedAt: Timestamp.nullable().meta({ description: "When the address was first verified." }),
    createdAt: Timestamp.meta({ description: "When the account was created." }),
  })
  .meta({ id: "ModeratedUser", description: "A user, as moderators see one." });
export type ModeratedUser = z.infer<typeof ModeratedUser>;

const moderationActions = [
  "resolve_dispute",
  "suspend_user",
  "reinstate_user",
  "add_moderator",
  "remove_moderator",
  "remove_second_factor",
  "remove_question",
] as const;

/** What a moderator, or an operator at the command line, did. */
export const ModerationAction = z
  .object({
    id: idOf("decision"),
    action: z.enum(moderationActions).meta({ description: "What was done.", example: "suspend_user" }),
    moderator: Person.nullable().meta({ description: "Null for an operator at the command line." }),
    user: Person.nullable().meta({ description: "On whom; null for a dispute. Of a question, who asked it." }),
    disputeId: Id.nullable().meta({ description: "The dispute that was resolved.", example: null }),
    questionId: Id.nullable().meta({ description: "The question that was removed.", example: null }),
    reason: z.string().nullable().meta({
      description: "Why.",
      example: "Posts the same task from several accounts.",
    }),
    createdAt: Timestamp.meta({ description: "When it was done." }),
  })
  .meta({ id: "ModerationAction", description: "What a moderator, or an operator at the command line, did." });
export type ModerationAction = z.infer<typeof ModerationAction>;

/** Why a user is suspended or reinstated. Only moderators see it, and its user in their export. */
export const Reason = text(1, 2_000).meta({
  description: "Why. Only moderators see it, and its user in their export.",
  example: "Posts the same task from several accounts.",
});
