import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import pg from "pg";
import { z } from "zod";
import { ConfigError } from "../config.ts";
import { isDatabaseUnavailable } from "../store/databaseErrors.ts";
import { toApiError } from "../translateErrors.ts";

/** The arguments make no sense; the message says what is wrong with them, and the usage is printed below it. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** The arguments make sense, but the command cannot do what they ask for; the message says why. */
export class CommandFailure extends Error {
  override readonly name = "CommandFailure";
}

/** What the arguments ask for, ready to run. It resolves to the exit code when that is not simply 0. */
type Action = () => Promise<number> | Promise<void>;

/**
 * Turns arguments into an action, before any connection is opened: a mistake is reported whether a service runs or not.
 * @throws UsageError, or the TypeError of `parseArgs`.
 */
type Parse = (words: string[]) => Action;

interface Syntax<Options extends ParseArgsOptionsConfig> {
  /** As in `parseArgs` of node:util. */
  options: Options;
  maxPositionals: number;
}

type Arguments<Options extends ParseArgsOptionsConfig> = ReturnType<
  typeof parseArgs<{ args: string[]; options: Options; allowPositionals: true }>
>;

/** Parses options and positional arguments; `interpret` checks their values and returns the action. */
export function takes<const Options extends ParseArgsOptionsConfig>(
  { options, maxPositionals }: Syntax<Options>,
  interpret: (given: Arguments<Options>) => Action,
): Parse {
  return (words) => {
    const given = parseArgs({ args: words, options, allowPositionals: true });
    const surplus = given.positionals.slice(maxPositionals);
    if (surplus.length > 0) throw new UsageError(`Unexpected argument: ${surplus.join(" ")}`);
    return interpret(given);
  };
}

/** Leaves the rest of the arguments to the subcommand that the first one names. */
export function subcommands(parsers: Readonly<Record<string, Parse>>): Parse {
  return ([name, ...words]) => {
    const known = Object.keys(parsers).join(", ");
    if (name === undefined) throw new UsageError(`A subcommand is required: ${known}.`);
    const parse = Object.hasOwn(parsers, name) ? parsers[name] : undefined;
    if (parse === undefined) throw new UsageError(`Unknown subcommand: ${name}. There are: ${known}.`);
    return parse(words);
  };
}

/** @throws UsageError naming the argument when it is not a UUID. */
export function uuidOf(name: string, text: string): string {
  if (z.uuid().safeParse(text).success) return text;
  throw new UsageError(`${name} must be a UUID, not "${text}".`);
}

interface Command {
  /** What `--help` prints, and what is printed below a UsageError. */
  usage: string;
  parse: Parse;
  /** The exit code when the action fails; 1 unless given. */
  failureCode?: number;
}

const asksForHelp = (words: readonly string[]) =>
  words[0] === "help" || words.includes("--help") || words.includes("-h");

/**
 * Runs one of the project's commands with the arguments of this process, prints failures, and ends the process. Exit
 * codes: the action's own, else 0; 2 for arguments that make no sense; `failureCode` for an action that failed.
 */
export async function runCommand({ usage, parse, failureCode = 1 }: Command): Promise<never> {
  const words = process.argv.slice(2);
  if (asksForHelp(words)) {
    console.log(usage);
    process.exit(0);
  }
  try {
    const code = await parse(words)();
    process.exit(code ?? 0);
  } catch (error) {
    const mistake = mistakeIn(error);
    if (mistake !== null) {
      console.error(`${mistake}\n\n${usage}`);
      process.exit(2);
    }
    console.error(explain(error));
    process.exit(failureCode);
  }
}

/** What is wrong with the arguments; null when the error is about something else. */
function mistakeIn(error: unknown): string | null {
  if (error instanceof UsageError) return error.message;
  const isFromParseArgs = error instanceof TypeError && "code" in error && /^ERR_PARSE_ARGS/.test(String(error.code));
  // Node adds advice on positional arguments that start with a dash; none of ours do.
  return isFromParseArgs ? error.message.replace(/ To specify a positional argument.*/s, "") : null;
}

/** A plain message for what an operator can expect to meet; the error itself, which prints with its stack, otherwise. */
function explain(error: unknown): unknown {
  if (error instanceof CommandFailure || error instanceof ConfigError) return error.message;
  if (isDatabaseUnavailable(error)) return `The database cannot be reached: ${messageOf(error)}`;
  if (isWrongDatabase(error)) return `DATABASE_URL does not lead to Rebid's database: ${messageOf(error)}`;
  const { code, message, details } = toApiError(error);
  if (code === "internal_error") return error;
  return details.issues?.map((issue) => issue.message).join("\n") ?? message;
}

/** SQLSTATE 28xxx: the login is refused; 3D000: the database does not exist; 42P01: it has no such table. */
function isWrongDatabase(error: unknown): boolean {
  return error instanceof pg.DatabaseError && /^(28|3D000$|42P01$)/.test(error.code ?? "");
}

/** Node's error for a connection that was refused on every address has no message of its own. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}
