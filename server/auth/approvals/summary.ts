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

/** Says what would happen, in one sentence. */
export function summaryOf(operation: ApprovableOperation, about: About): string {
  const { amountCents, input, title, payee = "the bidder" } = about;
  const price = money(amountCents);
  switch (operation) {
    case "tasks.create":
      return `Post ${quoted(input.title)}, and hold ${price}.`;
    case "tasks.update":
      return `Raise the budget of ${quoted(title)} to ${price}.`;
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
