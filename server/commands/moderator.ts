import { canonicalEmail } from "../schemas/user.ts";
import { listDisputes, readResolution, resolve } from "./moderator/disputes.ts";
import { printResetLink } from "./moderator/resetPassword.ts";
import { listModerators, setRole } from "./moderator/roles.ts";
import { withServices } from "./openServices.ts";
import { runCommand, subcommands, UsageError, withArguments } from "./runCommand.ts";

// Disputes are read and resolved by the same code as over the API. No session is needed: whoever can run this command
// has the service's settings, with direct access to its database.
const usage = `Appoints moderators, resolves disputes, and helps users who cannot sign in.

Usage, while Rebid runs:
  npm run moderator -- add EMAIL       Makes a user a moderator.
  npm run moderator -- remove EMAIL    Takes the role away, effective immediately.
  npm run moderator -- list [EMAIL]    Lists the moderators, or says whether a user is one.
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

const noArguments = { options: {}, maxPositionals: 0 } as const;
const oneArgument = { options: {}, maxPositionals: 1 } as const;
const resolveArguments = { options: { note: { type: "string" } }, maxPositionals: 3 } as const;

export const parse = subcommands({
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

if (import.meta.main) await runCommand({ usage, parse });
