import { z } from "zod";
import type { ApprovableOperation } from "../../schemas/approval.ts";

interface About {
  amountCents: number;
  input: Record<string, unknown>;
  title?: string | undefined;
  /** Who is paid. */
  payee?: string | undefined;
  /** Of an agreement that is accepted. */
  kind?: string | null | undefined;
  isBuyer?: boolean | undefined;
}

const acceptance = z.object({ acceptOnChecks: z.object({ afterMinutes: z.number() }) });

/** When a task would be paid by its checks; null if it would not. */
function wordsOfAcceptance(input: unknown): string | null {
  const { data } = acceptance.safeParse(input);
  if (data === undefined) return null;
  const { afterMinutes } = data.acceptOnChecks;
  const wait = afterMinutes === 0 ? "as soon as" : `${afterMinutes} minute${afterMinutes === 1 ? "" : "s"} after`;
  return `${wait} its required checks have passed`;
}

const money = (cents: number) => `$${(cents / 100).toFixed(2)}`;
const MAX_TITLE = 80;

function quoted(title: unknown): string {
  const characters = [...String(title ?? "the task")];
  return `“${characters.length <= MAX_TITLE ? characters.join("") : `${characters.slice(0, MAX_TITLE - 1).join("")}…`}”`;
}

/** What an agreement comes to for the side that is asked. */
function agreementOf({ amountCents, input, title, payee, kind = String(input.kind), isBuyer }: About): string {
  const what = `${kind === "cancel" ? "to cancel" : "a settlement of"} ${quoted(title)}`;
  const price = money(amountCents);
  return isBuyer ? `${what}, and pay ${payee ?? "the bidder"} ${price}` : `${what}, and give up ${price}`;
}

/** What a change of a task comes to: a larger budget, payment by its checks, or other checks that pay. */
function changeOf({ amountCents, input, title }: About, wait: string | null): string {
  const price = money(amountCents);
  if (input.maxBudgetCents !== undefined)
    return `Raise the budget of ${quoted(title)} to ${price}${wait === null ? "" : `, to be paid by itself ${wait}`}.`;
  if (wait !== null) return `Let ${quoted(title)} be paid by itself ${wait}, up to ${price}.`;
  return `Change the checks by which ${quoted(title)} is paid by itself, up to ${price}.`;
}

/** Says what would happen, in one sentence. */
export function summaryOf(operation: ApprovableOperation, about: About): string {
  const { amountCents, input, title, payee = "the bidder" } = about;
  const price = money(amountCents);
  const wait = wordsOfAcceptance(input);
  switch (operation) {
    case "tasks.create":
      return `Post ${quoted(input.title)}, and hold ${price}${wait === null ? "" : `, to be paid by itself ${wait}`}.`;
    case "tasks.update":
      return changeOf(about, wait);
    case "tasks.award":
      return `Award ${quoted(title)} to ${payee} for ${price}.`;
    case "tasks.accept":
      return `Accept the delivery of ${quoted(title)}, and pay ${payee} ${price}.`;
    case "payouts.create":
      return `Pay ${price} out to your bank account.`;
    case "agreements.propose":
      return `Propose ${agreementOf(about)}.`;
    case "agreements.accept":
      return `Agree on ${agreementOf(about)}.`;
    case "deliveries.report":
      return `Report that the delivery of ${quoted(title)} passes “${String(input.name)}”, and pay ${payee} ${price}.`;
  }
}
