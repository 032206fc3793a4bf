import { factOfPayoutStatus } from "./rules.ts";

/** Why a payout failed: the processor's code, and its message, which is for operators only. */
export interface PayoutFailure {
  code: string;
  processorMessage: string | null;
}

/** The failure of a payout with this status, or null. The processor has no code for a canceled payout. */
export function failureOf({
  status,
  failureCode,
  failureMessage,
}: {
  status: string;
  failureCode: string | null;
  failureMessage: string | null;
}): PayoutFailure | null {
  if (factOfPayoutStatus(status) !== "payoutFailed") return null;
  const code = failureCode ?? (status === "canceled" ? "canceled" : "unknown");
  return { code, processorMessage: failureMessage };
}

const closed = "The bank account is closed. Add another one in the payout onboarding, then request the payout again.";
const wrongBankDetails =
  "The bank does not recognise these account details. Correct them in the payout onboarding, then request the payout again.";
const restricted =
  "The bank does not let this account receive payouts. Ask your bank, or add another account in the payout onboarding.";
const notAllowed =
  "Your payout account cannot be paid at the moment. Open the payout onboarding to see what is missing, then request the payout again.";

/** Messages for the payout's owner, by the processor's codes for failed payouts and refused calls. */
const failureMessages = new Map(
  Object.entries({
    account_closed: closed,
    account_frozen: restricted,
    account_invalid: notAllowed,
    bank_account_restricted: restricted,
    bank_ownership_changed:
      "The bank account has a new owner. Add another one in the payout onboarding, then request the payout again.",
    canceled: "The payout was canceled before it left. You can request it again.",
    could_not_process: "The bank could not process the payout. Request it again.",
    debit_not_authorized: restricted,
    declined: "The bank declined the payout. Ask your bank, or add another account in the payout onboarding.",
    incorrect_account_holder_address: wrongBankDetails,
    incorrect_account_holder_name: wrongBankDetails,
    incorrect_account_holder_tax_id: wrongBankDetails,
    incorrect_account_type: wrongBankDetails,
    insufficient_capabilities_for_transfer: notAllowed,
    invalid_account_number: wrongBankDetails,
    invalid_account_number_length: wrongBankDetails,
    invalid_currency:
      "The bank account does not take this currency. Add another one in the payout onboarding, then request the payout again.",
    no_account: wrongBankDetails,
    payouts_not_allowed: notAllowed,
    transfers_not_allowed: notAllowed,
    unsupported_card: "The card cannot receive payouts. Add a bank account in the payout onboarding.",
  }),
);

/** Returns the message for a payout's owner; null without a code, and a general sentence for an unknown one. */
export function failureMessageOf(code: string | null): string | null {
  if (code === null) return null;
  return (
    failureMessages.get(code) ?? "The payout could not be made. Check the payout onboarding, then request it again."
  );
}
