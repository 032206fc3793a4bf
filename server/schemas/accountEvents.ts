import { z } from "zod";
import { ApiKey } from "./apiKey.ts";
import { ApprovalExcerpt } from "./approval.ts";
import { Person } from "./common.ts";

/** An API key in the log of its owner, which other keys of theirs read too. */
const KeyExcerpt = ApiKey.pick({ id: true, label: true, scopes: true }).meta({
  id: "KeyExcerpt",
  description: "An API key as events show it.",
});
export type KeyExcerpt = z.infer<typeof KeyExcerpt>;

const accountOnly = z.object({ user: Person.meta({ description: "Whose account it is." }) });

const approvalOnly = z.object({ approval: ApprovalExcerpt.meta({ description: "The approval as it was then." }) });
const ownerAndKey = "the sessions of the key's owner, and the key";

/** The events about the security of an account, which only its owner has in the log. */
export const accountEvents = {
  "approval.requested": {
    when: "an API key asks its owner to approve something",
    to: ownerAndKey,
    data: approvalOnly.meta({ id: "ApprovalRequestedEventData", description: "What events about a question have." }),
  },
  "approval.decided": {
    when: "an approval is no longer pending: its owner has answered, or it has expired or lost its subject",
    to: ownerAndKey,
    data: approvalOnly.meta({ id: "ApprovalDecidedEventData", description: "What events about an answer have." }),
  },
  "key.created": {
    when: "an API key is created",
    to: "the key's owner",
    data: z
      .object({ key: KeyExcerpt.meta({ description: "The new key, without the key itself." }) })
      .meta({ id: "KeyCreatedEventData", description: "What events about a new API key have." }),
  },
  "password.changed": {
    when: "an account gets a new password, by its owner or with a mailed link",
    to: "the account's owner",
    data: accountOnly.meta({ id: "PasswordChangedEventData", description: "What events about a new password have." }),
  },
  "account.suspended": {
    when: "a moderator or an operator suspends a user",
    to: "that user",
    data: accountOnly.meta({ id: "AccountSuspendedEventData", description: "What events about a suspension have." }),
  },
} as const;
