import { z } from "zod";
import { addSchedule } from "../market/fees/schedules.ts";
import { readPlatformCents, withdrawFees } from "../market/fees/withdrawals.ts";
import { InputTimestamp, MAX_INT32 } from "../schemas/common.ts";
import { MAX_BASIS_POINTS, MAX_TAX_BASIS_POINTS } from "../schemas/fee.ts";
import type { Services } from "../services.ts";
import { violatedCheck, violatedUniqueConstraint } from "../store/databaseErrors.ts";
import { withServices } from "./openServices.ts";
import { type Command, CommandFailure, runCommand, subcommands, UsageError, withArguments } from "./runCommand.ts";

const usage = `Sets the platform's fee, and books what is withdrawn of it. GET /fees shows every schedule to everyone.

Usage, while Rebid runs:
  npm run fees -- set --basis-points N [--min-cents N] [--max-cents N] [--tax-basis-points N] [--from TIME]
      Takes N hundredths of a percent of the price of every bid whose price is set from TIME on (now by default), at least and at
      most so many cents. The bidder pays it when the task is paid; the fee includes its tax. Bids that stand keep their fee.
      A schedule is never changed: set another one. --basis-points 0 ends the fee.
  npm run fees -- withdraw CENTS --reference TEXT
      Books that CENTS of the earned fees have left the processor's balance: paid out to you, or spent on the processor's own
      fees. It moves no money at the processor. A reference counts once: a repeat with the same amount changes nothing.

Exit codes:
  0  done
  1  refused or failed
  2  the arguments are invalid`;

const integer = z
  .string()
  .regex(/^\d{1,10}$/)
  .transform(Number);

/** Reads an integer of at most `max`. Throws a UsageError that names it. */
function integerOf(name: string, text: string, max: number, min = 0): number {
  const { data } = integer.safeParse(text);
  if (data !== undefined && data >= min && data <= max) return data;
  throw new UsageError(`${name} must be an integer from ${min} to ${max}, not "${text}".`);
}

function timeOf(text: string): string {
  const { data } = InputTimestamp.safeParse(text);
  if (data !== undefined) return data;
  throw new UsageError(`--from must be an ISO 8601 timestamp, such as 2026-12-01T00:00:00Z, not "${text}".`);
}

const setArguments = {
  options: {
    "basis-points": { type: "string" },
    "min-cents": { type: "string", default: "0" },
    "max-cents": { type: "string" },
    "tax-basis-points": { type: "string", default: "0" },
    from: { type: "string" },
  },
  maxPositionals: 0,
} as const;

type NewSchedule = Parameters<typeof addSchedule>[1];

async function set({ database }: Services, schedule: NewSchedule): Promise<void> {
  const added = await database
    .transaction((tx) => addSchedule(tx, schedule))
    .catch((error: unknown) => {
      if (violatedCheck(error) !== "fee_schedules_never_past") throw error;
      throw new CommandFailure(`A schedule cannot start in the past: ${schedule.from} is over. Nothing was changed.`);
    });
  const { basisPoints, minCents, maxCents, taxBasisPoints, from } = added;
  const limits = `at least ${minCents} cents${maxCents === null ? "" : `, at most ${maxCents} cents`}`;
  console.log(
    `From ${from}, the fee is ${basisPoints / 100} % of the price, ${limits}, with ${taxBasisPoints / 100} % tax in it.`,
  );
}

async function withdraw({ database }: Services, amountCents: number, reference: string): Promise<void> {
  const isNew = await withdrawFees(database, amountCents, reference).catch(async (error: unknown) => {
    if (violatedUniqueConstraint(error) === "ledger_transfers_fingerprint") {
      throw new CommandFailure(`The reference ${reference} was used for another amount. Nothing was booked.`);
    }
    if (violatedCheck(error) !== "ledger_platform_not_negative") throw error;
    const cents = await readPlatformCents(database);
    throw new CommandFailure(`The platform has ${cents} cents, less than ${amountCents}. Nothing was booked.`);
  });
  const leftCents = await readPlatformCents(database);
  const what = isNew ? `Withdrew ${amountCents} cents` : `${amountCents} cents were already withdrawn`;
  console.log(`${what}, reference ${reference}. The platform has ${leftCents} cents left.`);
}

const parse = subcommands({
  set: withArguments(setArguments, ({ values }) => {
    if (values["basis-points"] === undefined) throw new UsageError("--basis-points is required.");
    const basisPoints = integerOf("--basis-points", values["basis-points"], MAX_BASIS_POINTS);
    const minCents = integerOf("--min-cents", values["min-cents"], MAX_INT32);
    const maxText = values["max-cents"];
    const maxCents = maxText === undefined ? null : integerOf("--max-cents", maxText, MAX_INT32);
    if (maxCents !== null && maxCents < minCents) {
      throw new UsageError(`The minimum of ${minCents} cents is above the maximum of ${maxCents} cents.`);
    }
    const taxBasisPoints = integerOf("--tax-basis-points", values["tax-basis-points"], MAX_TAX_BASIS_POINTS);
    const from = values.from === undefined ? null : timeOf(values.from);
    return withServices((services) => set(services, { basisPoints, minCents, maxCents, taxBasisPoints, from }));
  }),
  withdraw: withArguments(
    { options: { reference: { type: "string" } }, maxPositionals: 1 },
    ({ positionals: [text], values: { reference } }) => {
      if (text === undefined) throw new UsageError("CENTS is required.");
      const amountCents = integerOf("CENTS", text, MAX_INT32, 1);
      if (reference === undefined || !/^[\x21-\x7e]{1,100}$/.test(reference)) {
        throw new UsageError("--reference must have 1 to 100 visible ASCII characters.");
      }
      return withServices((services) => withdraw(services, amountCents, reference));
    },
  ),
});

export const command: Command = { usage, parse };

if (import.meta.main) await runCommand(command);
