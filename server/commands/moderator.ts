/**
 * `npm run moderator`: who moderates, and moderation without a browser, on the database of the running service. The
 * person at the command line is the operator: disputes are read and resolved by the very code of the API.
 * Exit codes: 0 done, 1 refused or failed, 2 the command was not understood.
 */
import { styleText } from "node:util";
import { z } from "zod";
import { ConfigError } from "../config.ts";
import { ApiError } from "../errors.ts";
import { readDisputeCases } from "../market/disputes/records.ts";
import { resolveDispute } from "../market/disputes/resolution.ts";
import { type DisputeCase, resolveInput } from "../schemas/dispute.ts";
import { canonicalEmail } from "../schemas/user.ts";
import type { Services } from "../services.ts";
import { sql } from "../store/connection.ts";
import { openServices } from "./openServices.ts";

const usage = `Usage, while Rebid runs:
  npm run moderator -- add EMAIL        makes a user a moderator
  npm run moderator -- remove EMAIL     takes the role away, at once
  npm run moderator -- list [EMAIL]     shows the moderators, or whether a user is one
  npm run moderator -- disputes         shows the open disputes, oldest first
  npm run moderator -- resolve ID refund|release|split [CENTS] [--note TEXT]
      refund   returns all to the buyer
      release  pays all to the bidder
      split    pays CENTS to the bidder and returns the rest`;

/** The command was not understood. */
class UsageError extends Error {
  override readonly name = "UsageError";
}

/** It was understood and cannot be done; the message says why. */
class Refused extends Error {
  override readonly name = "Refused";
}

const bold = (text: string) => styleText("bold", text);
const dim = (text: string) => styleText("dim", text);
const cents = (amount: number) => `${amount} cents`;
const say = (...lines: string[]) => console.log(lines.join("\n"));

function emailOf([email, ...rest]: string[]): string {
  const canonical = email === undefined || rest.length > 0 ? null : canonicalEmail(email);
  if (canonical === null) throw new UsageError("One email address is needed.");
  return canonical;
}

async function setRole({ database }: Services, email: string, role: "moderator" | "member"): Promise<void> {
  const [user] = await database.query<{ displayName: string; before: string }>(sql`
    UPDATE users u SET role = ${role} FROM (SELECT id, role FROM users WHERE email = ${email} FOR UPDATE) old
    WHERE u.id = old.id RETURNING u.display_name AS "displayName", old.role AS before`);
  if (!user) throw new Refused(`No user has the email ${email}: they sign up first.`);
  const is = role === "moderator" ? "a moderator" : "no moderator";
  say(`${user.displayName} <${email}> ${user.before === role ? `was ${is} already` : `is now ${is}`}.`);
}

async function listModerators({ database }: Services, email: string | null): Promise<void> {
  const moderators = await database.query<{ email: string; displayName: string }>(sql`
    SELECT email, display_name AS "displayName" FROM users
    WHERE role = 'moderator' AND (${email}::text IS NULL OR email = ${email}) ORDER BY email`);
  if (moderators.length === 0) say(email === null ? "There are no moderators." : `${email} is no moderator.`);
  else say(...moderators.map(({ email, displayName }) => `${email}  ${dim(displayName)}`));
}

/** Text of users goes to a terminal: nothing in it may move the cursor or change colours. */
function printable(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n\t]/gu, "\u{fffd}").replaceAll("\n", "\n            ");
}

function describe({ id, task, bid, samples, deliveries, reputations, ...dispute }: DisputeCase): string[] {
  const { buyer, bidder } = reputations;
  const asBuyer = buyer.buyer && `${buyer.buyer.tasksAccepted} accepted, ${buyer.buyer.disputesLost} disputes lost`;
  const asBidder =
    bidder.bidder && `${bidder.bidder.tasksAccepted} accepted, ${bidder.bidder.disputesLost} disputes lost`;
  return [
    bold(id),
    `  task      ${printable(task.title)} ${dim(task.id)}`,
    `  held      ${cents(bid.priceCents)}`,
    `  buyer     ${printable(task.buyer.displayName)} ${dim(`(${asBuyer ?? "nothing yet"})`)}`,
    `  bidder    ${printable(bid.bidder.displayName)} ${dim(`(${asBidder ?? "nothing yet"})`)}`,
    `  opened    ${dispute.createdAt} by the ${dispute.openedBy}`,
    `  reason    ${printable(dispute.reason)}`,
    `  asked     ${printable(task.description)}`,
    ...(task.acceptanceCriteria === null ? [] : [`  criteria  ${printable(task.acceptanceCriteria)}`]),
    ...(bid.notes === null ? [] : [`  offered   ${printable(bid.notes)}`]),
    ...samples.map(({ downloadUrl }) => `  sample    ${downloadUrl}`),
    ...deliveries.map(({ downloadUrl }) => `  delivery  ${downloadUrl}`),
    "",
  ];
}

const PAGE = 50;

async function listDisputes(services: Services): Promise<void> {
  let count = 0;
  for (let cursor: string | undefined; ; ) {
    const page = await readDisputeCases(services, { partyId: null, statuses: ["open"], cursor, limit: PAGE });
    for (const dispute of page) say(...describe(dispute));
    count += page.length;
    cursor = page.at(-1)?.createdAt;
    if (page.length < PAGE) break;
  }
  say(count === 0 ? "There are no open disputes." : `${count} open. To decide one: npm run moderator -- resolve ID …`);
}

/** The input of `POST /disputes/{id}/resolve`, from words. The note may stand anywhere. */
function resolutionOf(words: string[]) {
  const rest = [...words];
  let note: string | undefined;
  const noteAt = rest.findIndex((word) => word === "--note" || word.startsWith("--note="));
  if (noteAt !== -1) {
    const [word = ""] = rest.splice(noteAt, 1);
    note = word.startsWith("--note=") ? word.slice("--note=".length) : rest.splice(noteAt, 1)[0];
    if (note === undefined) throw new UsageError("--note needs a text.");
  }
  const [id, resolution, share, ...others] = rest;
  if (others.length > 0) throw new UsageError(`This is too much: ${others.join(" ")}`);
  if (share !== undefined && !/^[1-9]\d*$/.test(share))
    throw new UsageError(`CENTS is a positive integer, not ${share}.`);
  const parsed = z.strictObject({ id: z.uuid("ID is the dispute's id."), ...resolveInput }).safeParse({
    id,
    resolution,
    ...(share !== undefined && { bidderCents: Number(share) }),
    ...(note !== undefined && { note }),
  });
  if (!parsed.success)
    throw new UsageError(parsed.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("\n"));
  return parsed.data;
}

async function resolve(services: Services, input: ReturnType<typeof resolutionOf>): Promise<void> {
  const { dispute, task } = await resolveDispute(services, input, null).catch((error: unknown) => {
    const unknown = error instanceof ApiError && error.code === "not_found";
    throw unknown ? new Refused(`There is no dispute ${input.id}.`) : error;
  });
  say(
    `${bold("Resolved")}: ${dispute.resolution} of "${printable(task.title)}".`,
    `  returned to the buyer  ${cents(dispute.buyerCents ?? 0)}`,
    `  paid to the bidder     ${cents(dispute.bidderCents ?? 0)}`,
  );
}

/** Understands the words before anything is opened, so that a wrong command is told as such, whatever runs. */
function commandOf([name, ...words]: string[]): (services: Services) => Promise<void> {
  const none = (work: (services: Services) => Promise<void>) => {
    if (words.length > 0) throw new UsageError(`This is too much: ${words.join(" ")}`);
    return work;
  };
  switch (name) {
    case "add":
    case "remove": {
      const email = emailOf(words);
      return (services) => setRole(services, email, name === "add" ? "moderator" : "member");
    }
    case "list": {
      const email = words.length === 0 ? null : emailOf(words);
      return (services) => listModerators(services, email);
    }
    case "disputes":
      return none(listDisputes);
    case "resolve": {
      const input = resolutionOf(words);
      return (services) => resolve(services, input);
    }
    case undefined:
      throw new UsageError("A command is needed.");
    default:
      throw new UsageError(`${name} is no command.`);
  }
}

async function main(words: string[]): Promise<void> {
  if (["help", "--help", "-h"].includes(words[0] ?? "")) return say(usage);
  const command = commandOf(words);
  const { services, close } = await openServices();
  try {
    await command(services);
  } finally {
    await close();
  }
}

function explain(error: ApiError): string {
  return [error.message, ...(error.details.issues ?? []).map(({ path, message }) => `${path}: ${message}`)].join("\n");
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  if (error instanceof UsageError) console.error(`${error.message}\n\n${usage}`);
  else if (error instanceof ApiError) console.error(explain(error));
  else if (error instanceof Refused || error instanceof ConfigError) console.error(error.message);
  else console.error(error);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
