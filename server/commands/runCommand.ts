import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import pg from "pg";
import { z } from "zod";
import { MigrationError } from "../../prisma/migrate.ts";
import { ConfigError } from "../config.ts";
import { isDatabaseUnavailable } from "../store/databaseErrors.ts";
import { toApiError } from "../translateErrors.ts";

/** The arguments are invalid. The message says why, and the usage is printed below it. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** The arguments are valid, but the command cannot do what they ask for. The message says why. */
export class CommandFailure extends Error {
  override readonly name = "CommandFailure";
}

/** The work that the arguments ask for. Resolves to the exit code; nothing means 0. */
type Action = () => Promise<number> | Promise<void>;

/**
 * Turns arguments into an action without opening a connection, so that mistakes are reported whether or not a service
 * is running.
 * @throws UsageError, or the TypeError of `parseArgs`.
 */
type Parse = (args: string[]) => Action;

interface Syntax<Options extends ParseArgsOptionsConfig> {
  /** As in `parseArgs` of node:util. */
  options: Options;
  maxPositionals: number;
}

type Arguments<Options extends ParseArgsOptionsConfig> = ReturnType<
  typeof parseArgs<{ args: string[]; options: Options; allowPositionals: true }>
>;

/** Returns a parser of options and positional arguments. `interpret` checks their values and returns the action. */
export function withArguments<const Options extends ParseArgsOptionsConfig>(
  { options, maxPositionals }: Syntax<Options>,
  interpret: (given: Arguments<Options>) => Action,
): Parse {
  return (args) => {
    const given = parseArgs({ args, options, allowPositionals: true });
    const surplus = given.positionals.slice(maxPositionals);
    if (surplus.length > 0) throw new UsageError(`Unexpected argument: ${surplus.join(" ")}`);
    return interpret(given);
  };
}

/** Returns a parser that passes the arguments after the first to the subcommand that the first one names. */
export function subcommands(parsers: Readonly<Record<string, Parse>>): Parse {
  return ([name, ...args]) => {
    const known = Object.keys(parsers).join(", ");
    if (name === undefined) throw new UsageError(`A subcommand is required: ${known}.`);
    const parse = Object.hasOwn(parsers, name) ? parsers[name] : undefined;
    if (parse === undefined) throw new UsageError(`Unknown subcommand: ${name}. The subcommands are: ${known}.`);
    return parse(args);
  };
}

/** @throws UsageError naming the argument when it is not a UUID. */
export function uuidOf(name: string, text: string): string {
  if (z.uuid().safeParse(text).success) return text;
  throw new UsageError(`${name} must be a UUID, not "${text}".`);
}

export interface Command {
  /** What `--help` prints, and what is printed below a UsageError. */
  usage: string;
  parse: Parse;
  /** The exit code when the action fails; 1 by default. */
  failureCode?: number;
}

const asksForHelp = (args: readonly string[]) => args[0] === "help" || args.includes("--help") || args.includes("-h");

/** Runs one of the project's commands with the arguments of this process, and ends the process with its exit code. */
export async function runCommand(command: Command): Promise<never> {
  process.exit(await execute(command, process.argv.slice(2)));
}

/**
 * Does what the arguments ask for, and prints failures. Resolves to the exit code: the action's own, or 0; 2 for invalid
 * arguments; `failureCode` for an action that failed.
 */
export async function execute({ usage, parse, failureCode = 1 }: Command, args: string[]): Promise<number> {
  if (asksForHelp(args)) {
    console.log(usage);
    return 0;
  }
  try {
    return (await parse(args)()) ?? 0;
  } catch (error) {
    const mistake = usageMistakeIn(error);
    if (mistake !== null) {
      console.error(`${mistake}\n\n${usage}`);
      return 2;
    }
    console.error(explain(error));
    return failureCode;
  }
}

/** Returns what is wrong with the arguments, or null if the error is about something else. */
function usageMistakeIn(error: unknown): string | null {
  if (error instanceof UsageError) return error.message;
  const isFromParseArgs = error instanceof TypeError && "code" in error && /^ERR_PARSE_ARGS/.test(String(error.code));
  // Node adds advice on positional arguments that start with a dash. None of ours do.
  return isFromParseArgs ? error.message.replace(/ To specify a positional argument.*/s, "") : null;
}

/** Returns a plain message for an expected failure. Any other error is returned as it is, and prints with its stack. */
function explain(error: unknown): unknown {
  if (error instanceof CommandFailure || error instanceof ConfigError || error instanceof MigrationError)
    return error.message;
  if (isDatabaseUnavailable(error)) return `The database cannot be reached: ${messageOf(error)}`;
  if (isWrongDatabase(error)) return `DATABASE_URL does not lead to Rebid's database: ${messageOf(error)}`;
  const { code, message, details } = toApiError(error);
  if (code === "internal_error") return error;
  return details.issues?.map((issue) => issue.message).join("\n") ?? message;
}

/** SQLSTATE 28xxx: the login is refused. 3D000: the database does not exist. 42P01: it does not have that table. */
function isWrongDatabase(error: unknown): boolean {
  return error instanceof pg.DatabaseError && /^(28|3D000$|42P01$)/.test(error.code ?? "");
}

/** An AggregateError, which Node throws when every address of a host refuses, has no message of its own. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}
