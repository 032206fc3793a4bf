import type { CallToolResult } from "@modelcontextprotocol/server";
import type { ApiError, ErrorCode } from "../errors.ts";

/** What a model can do about an error, where the message alone does not say it. */
const remedies: Partial<Record<ErrorCode, string>> = {
  invalid_input: "Correct the arguments that `issues` names, and call again.",
  budget_locked_by_bids: "Cancel the task and post it anew, or keep the budget.",
  price_above_budget: "Bid at most the task's maxBudgetCents (get_task).",
  delivery_too_large: "Split the file, or make it smaller.",
  unauthenticated: "The API key is no longer valid: ask the person whom you work for to create another one.",
  insufficient_funds:
    "Only a person can top up, in a browser session. Ask them, or call again with a smaller amount (get_wallet).",
  ledger_failed: "Read the wallet (get_wallet), and call again.",
  forbidden: "This is not yours to do: read the task's availableActions (get_task).",
  missing_scope: "Ask the person whom you work for to create an API key with the scope `requiredScope`.",
  spend_limit: "Spend less, wait for the key's next period, or ask the person whom you work for to create another key.",
  approval_required:
    "Show approval.url to the person whom you work for, wait_for_events with types approval.decided, and call again with the same arguments and confirm: the answer is then there.",
  approval_declined: "The person said no: read approval.reason, and do something else.",
  not_found: "Check the id. What others have and you may not see is not found either.",
  wrong_status: "Read the task (get_task): nextTools says what is possible now.",
  bid_invalid: "Look at the bids again (compare_bids): this one is withdrawn, rejected, or of another task.",
  bid_changed: "Look at the bids again (compare_bids), and decide anew.",
  active_bid_exists: "Change that bid with place_bid, or withdraw it with withdraw_bid.",
  idempotency_conflict: "Choose another idempotencyKey.",
  cursor_expired: "Begin without `after`, and compare with what you know.",
  onboarding_required: "A person has to enter the bank details first, in a browser session: POST /payouts/onboarding.",
  onboarding_incomplete: "A person has to finish the payout onboarding first, in a browser session.",
  payload_too_large: "Send less, or upload the file yourself: call deliver with `bytes`.",
  spam_guard: "Wait as long as retryAfterSeconds says. Is the same task posted already (taskId)?",
  rate_limited: "Wait as long as retryAfterSeconds says, then call again.",
  limit_reached: "End another wait first.",
  unavailable:
    "Wait a moment, then call again. What was changed already is not changed twice by a repeat with the same confirm or idempotencyKey.",
  internal_error: "Report the requestId to the operator.",
};

/** The error of a tool: the API's own body with its status, in words and as JSON. The protocol's errors are for its own mistakes. */
export function toolError(error: ApiError, requestId: string): CallToolResult {
  const { error: code, message, requestId: id, ...details } = error.toBody(requestId);
  const { status, retryAfterSeconds } = error;
  const remedy = remedies[code];
  const body = {
    ...{ error: code, status, message, requestId: id, ...details },
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds: Math.ceil(retryAfterSeconds) }),
  };
  const page = details.approval && "url" in details.approval ? [`approval.url: ${details.approval.url}`] : [];
  const words = [`${code} (${status}): ${message}`, ...page, ...(remedy ? [`Next: ${remedy}`] : [])].join("\n");
  // Not as structured content: clients check that against the schema of a success.
  return {
    isError: true,
    content: [
      { type: "text", text: words },
      { type: "text", text: JSON.stringify(body) },
    ],
  };
}
