import { z } from "zod";
import { Cents, InputTimestamp, idOf, line, MAX_INT32, Timestamp } from "./common.ts";
import { scopes } from "./scope.ts";

const Scope = z.enum(scopes).meta({
  id: "Scope",
  description:
    "What an API key may do. `task:write`: post, change, cancel, award, accept, dispute and rate tasks. `bid:write`: place, " +
    "change and withdraw bids, upload samples and deliveries. `payouts:write`: request payouts. `webhook:read`, " +
    "`webhook:write`: list webhook endpoints; register, test, replay and delete them.",
});

/** How often the sum that a key has spent starts again at 0: at midnight UTC, on the first of a month, or never. */
const spendPeriods = ["day", "month", "total"] as const;

const spendLimit = {
  cents: z
    .int()
    .min(0)
    .max(MAX_INT32)
    .meta({ description: "The most that the key may spend in a period, in integer cents.", example: 10_000 }),
  per: z
    .enum(spendPeriods)
    .meta({ description: "The period: a day or month in UTC, or the key's whole life.", example: "day" }),
};

const SpendLimit = z
  .object({
    ...spendLimit,
    spentCents: Cents.meta({
      description: "What the key has spent in the current period, in integer cents.",
      example: 2_500,
    }),
  })
  .meta({ id: "SpendLimit", description: "The most that a key may spend in a period, and what it has spent." });

const approval = {
  aboveCents: z.int().min(0).max(MAX_INT32).meta({
    description: "You are asked about whatever holds, commits or pays more than this, in integer cents.",
    example: 5_000,
  }),
};

const KeyApproval = z
  .object(approval)
  .meta({ id: "KeyApproval", description: "Above which amount an API key has to ask its owner." });
const KeyClient = z
  .object({
    id: z.string().meta({
      description: "The app's client id: the address of its document, or what the operator or a registration gave it.",
      example: "https://app.example.com/oauth/client.json",
    }),
    name: z.string().meta({ description: "What the app calls itself. Nobody has checked it.", example: "Example App" }),
    domain: z
      .string()
      .meta({ description: "The domain of the app, or of where it leads people back.", example: "app.example.com" }),
  })
  .meta({ id: "KeyClient", description: "An app that its owner has connected." });

export const ApiKey = z
  .object({
    id: idOf("API key"),
    label: z.string().meta({ description: "The name that its owner gave it.", example: "my agent" }),
    scopes: z.array(Scope).meta({ description: "What the key may do.", example: ["task:write"] }),
    last4: z.string().meta({ description: "The key's last four characters; empty for a grant.", example: "Q7XA" }),
    createdAt: Timestamp.meta({ description: "When the key was created." }),
    expiresAt: Timestamp.nullable().meta({ description: "When the key stops working; null for never.", example: null }),
    spendLimit: SpendLimit.nullable().meta({ description: "Null for a key without a limit." }),
    approval: KeyApproval.nullable().meta({ description: "Null for a key that asks nobody." }),
    kind: z.enum(["key", "grant"]).meta({
      description: "A `grant` is a connected app: it has access tokens in place of a key of its own.",
      example: "key",
    }),
    client: KeyClient.nullable().meta({ description: "The app of a grant; null for a key." }),
  })
  .meta({ id: "ApiKey", description: "An API key, without the key itself." });
export type ApiKey = z.infer<typeof ApiKey>;

/** Timestamps are printed with a year of four digits, whatever time zone they came with. */
const YEAR_10000_MS = Date.UTC(10_000, 0);

/** What is chosen when a key is created. Source: docs/contract.md "Authentication". */
export const apiKeyInput = {
  label: line(1, 80).meta({ description: "A name for the key. One line, trimmed.", example: "my agent" }),
  scopes: z
    .array(Scope)
    .max(32)
    .transform((scopes) => [...new Set(scopes)])
    .meta({ description: "What the key may do; with none, it can read your records.", example: ["task:write"] }),
  expiresAt: InputTimestamp.refine((text) => !(Date.parse(text) >= YEAR_10000_MS), "Must be before the year 10000.")
    .meta({
      description: "When the key stops working, a time in the future. Never by default.",
      format: "date-time",
      example: "2027-11-20T12:00:00Z",
    })
    .optional(),
  spendLimit: z
    .strictObject(spendLimit)
    .meta({
      id: "NewSpendLimit",
      description:
        "The most that the key may spend in a period: holds for new tasks and larger budgets, and payouts. What comes back " +
        "does not reduce it. Unlimited by default.",
    })
    .optional(),
  approval: z
    .strictObject(approval)
    .meta({
      id: "NewKeyApproval",
      description:
        "What the key asks you about: an operation with more than this waits for your answer, and one with exactly this does " +
        "not. The key asks nobody by default.",
    })
    .optional(),
};
