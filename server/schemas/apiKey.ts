import { z } from "zod";
import { Id, InputTimestamp, line, MAX_INT32, Timestamp } from "./common.ts";
import { scopes } from "./scope.ts";

export const Scope = z.enum(scopes);

/** How often the sum that a key has spent starts again at 0: at midnight UTC, on the first of a month, or never. */
const spendPeriods = ["day", "month", "total"] as const;

const spendLimit = {
  cents: z.int().min(0).max(MAX_INT32).meta({ description: "Integer cents.", example: 10_000 }),
  per: z.enum(spendPeriods).meta({ description: "A day or month in UTC, or the key's whole life." }),
};

const SpendLimit = z
  .object({ ...spendLimit, spentCents: z.int().meta({ description: "Integer cents, in the current period." }) })
  .meta({ id: "SpendLimit" });

export const ApiKey = z
  .object({
    id: Id,
    label: z.string(),
    scopes: z.array(Scope),
    last4: z.string(),
    createdAt: Timestamp,
    expiresAt: Timestamp.nullable(),
    spendLimit: SpendLimit.nullable(),
  })
  .meta({ id: "ApiKey" });
export type ApiKey = z.infer<typeof ApiKey>;

/** Timestamps are printed with a year of four digits, whatever time zone they came with. */
const YEAR_10000_MS = Date.UTC(10_000, 0);

/** What is chosen when a key is created. Source: docs/contract.md "Authentication". */
export const apiKeyInput = {
  label: line(1, 80).meta({ example: "my agent" }),
  scopes: z
    .array(Scope)
    .max(32)
    .transform((scopes) => [...new Set(scopes)]),
  expiresAt: InputTimestamp.refine((text) => !(Date.parse(text) >= YEAR_10000_MS), "Must be before the year 10000.")
    .meta({ description: "When the key stops working, a time in the future. Never by default.", format: "date-time" })
    .optional(),
  spendLimit: z
    .strictObject(spendLimit)
    .meta({
      description:
        "The most that the key may spend in a period: holds for new tasks and larger budgets, and payouts. What comes back " +
        "does not reduce it. Unlimited by default.",
    })
    .optional(),
};
