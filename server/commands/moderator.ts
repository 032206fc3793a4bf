import { Reason } from "../schemas/moderation.ts";
import { canonicalEmail } from "../schemas/user.ts";
import { listDisputes, readResolution, resolve } from "./moderator/disputes.ts";
import { printResetLink } from "./moderator/resetPassword.ts";
import { listModerators, setRole } from "./moderator/roles.ts";
import { listUsers, reinstate, removeSecondFactor, suspend } from "./moderator/users.ts";
import { withServices } from "./openServices.ts";
import { type Command, runCommand, subcommands, UsageError, withArguments } from "./runCommand.ts";

// Disputes are read and resolved by the same code as over the API. No session is needed, because anyone who can run this command
// has the service's settings, with direct access to its database.
const usage = `Appoints moderators, suspends users, resolves disputes, and helps users who cannot sign in. What it decides is
recorded: GET /moderation/actions.

Usage, while Rebid runs:
  npm run moderator -- add EMAIL       Makes a user a moderator.
  npm run moderator -- remove EMAIL    Takes the role away, effective immediately.
  npm run moderator -- list [EMAIL]    Lists the moderators, or says whether a user is one.
  npm run moderator -- users QUERY     Lists users by a part of their email address or name.
  npm run moderator -- suspend EMAIL --reason TEXT
      Ends a user's sessions and API keys for good, cancels their open tasks and withdraws their active bids.
  npm run moderator -- reinstate EMAIL [--reason TEXT]
      Lifts a suspension.
  npm run moderator -- remove-totp EMAIL
      Removes the second factor of a user who has lost it, once you are sure who they are.
  npm run moderator -- disputes        Shows the open disputes, oldest first.
  npm run moderator -- resolve ID refund|release|split [CENTS] [--note TEXT]
      refund    returns everything to the buyer
      release   pays everything to the bidder
      split     pays CENTS to the bidder and returns the rest to the buyer
  npm run moderator -- reset-password EMAIL
      Prints a link with which a user can choose a new password, for an hour.

Exit codes:
  0  done
  1  refused or failed
  2  the arguments are invalid`;

function emailOf(text: string | undefined): string {
  if (text === undefined) throw new UsageError("An email address is required.");
  const email = canonicalEmail(text);
  if (email === null) throw new UsageError(`"${text}" is not a valid email address.`);
  return email;
}

/** Reads a reason within the limits of `POST /users/{id}/suspend`. */
function reasonOf(text: string | undefined): string | undefined {
  const parsed = Reason.optional().safeParse(text);
  if (parsed.success) return parsed.data;
  throw new UsageError(parsed.error.issues.map(({ message }) => `--reason: ${message}`).join("\n"));
}

const noArguments = { options: {}, maxPositionals: 0 } as const;
const oneArgument = { options: {}, maxPositionals: 1 } as const;
const reasonArguments = { options: { reason: { type: "string" } }, maxPositionals: 1 } as const;
const resolveArguments = { options: { note: { type: "string" } }, maxPositionals: 3 } as const;

const parse = subcommands({
  add: withArguments(oneArgument, ({ positionals: [text] }) => {
    const email = emailOf(text);
    return withServices((services) => setRole(services, email, "moderator"));
  }),
  remove: withArguments(oneArgument, ({ positionals: [text] }) => {
    const email = emailOf(text);
    return withServices((services) => setRole(services, email, "member"));
  }),
  list: withArguments(oneArgument, ({ positionals: [text] }) => {
    const email = text === undefined ? null : emailOf(text);
    return withServices((services) => listModerators(services, email));
  }),
  users: withArguments(oneArgument, ({ positionals: [query] }) => {
    if (query === undefined) throw new UsageError("A part of an email address or name is required.");
    return withServices((services) => listUsers(services, query));
  }),
  suspend: withArguments(reasonArguments, ({ positionals: [text], values }) => {
    const [email, reason] = [emailOf(text), reasonOf(values.reason)];
    if (reason === undefined) throw new UsageError("A reason is required: --reason TEXT.");
    return withServices((services) => suspend(services, email, reason));
  }),
  reinstate: withArguments(reasonArguments, ({ positionals: [text], values }) => {
    const [email, reason] = [emailOf(text), reasonOf(values.reason)];
    return withServices((services) => reinstate(services, email, reason));
  }),
  "remove-totp": withArguments(oneArgument, ({ positionals: [text] }) => {
    const email = emailOf(text);
    return withServices((services) => removeSecondFactor(services, email));
  }),
  disputes: withArguments(noArguments, () => withServices(listDisputes)),
  resolve: withArguments(resolveArguments, ({ positionals, values: { note } }) => {
    const resolution = readResolution(positionals, note);
    return withServices((services) => resolve(services, resolution));
  }),
  "reset-password": withArguments(oneArgument, ({ positionals: [text] }) => {
    const email = emailOf(text);
    return withServices((services) => printResetLink(services, email));
  }),
});

export const command: Command = { usage, parse };

if (import.meta.main) await runCommand(command);
