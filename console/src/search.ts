import type { LedgerEntry, TaskStatus, WebhookDelivery } from "./api/client.ts";
import type { LedgerFilters, TaskFilters } from "./api/queries.ts";
import { readReturnTo } from "./api/session.ts";
import { limitsOf } from "./limits.ts";

/**
 * What the pages take from the part of their address after the question mark. An address may be typed by anybody: what is not
 * known counts as left out.
 */
type Raw = Record<string, unknown>;

export const taskStatuses: readonly TaskStatus[] = [
  ...(["open", "awarded", "delivered", "accepted", "cancelled", "disputed", "resolved", "expired"] as const),
];

export const movementKinds: readonly LedgerEntry["kind"][] = [
  ...(["topup", "hold", "hold_release", "task_payment", "task_earning", "dispute_refund"] as const),
  ...(["payout", "payout_reversal", "topup_refund", "chargeback", "adjustment", "platform_fee"] as const),
];

export const deliveryStatuses: readonly WebhookDelivery["status"][] = ["pending", "succeeded", "failed"];

/** The filters are in the address under the names that the API has for them, so a search can be shared. */
export const feedSearch = (search: Raw): TaskFilters => ({
  query: readText(search.query, limitsOf("tasks.list", "query").minLength),
  tag: readText(search.tag),
  minBudget: readCents(search.minBudget),
  maxBudget: readCents(search.maxBudget),
  status: taskStatuses.find((status) => status === search.status && status !== "open"),
});

/** The router reads `query=12` as a number. */
export function readText(value: unknown, minLength = 1): string | undefined {
  const text = typeof value === "string" || typeof value === "number" ? String(value) : "";
  return [...text].length >= minLength ? text : undefined;
}

const readCents = (value: unknown) =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 ? value : undefined;

/** Where somebody wanted to go who had to sign in first. */
export const returnSearch = ({ to }: Raw): { to?: string } => ({ to: readReturnTo(to) });

/** `user_code` is in the address that a device shows, so that nobody has to type it. */
export const deviceSearch = ({ user_code: code }: Raw): { user_code?: string } => ({
  user_code: typeof code === "string" ? code.slice(0, 20) : undefined,
});

export const workSearch = ({ show }: Raw): { show?: "awarded" | "bids" } => ({
  show: show === "awarded" || show === "bids" ? show : undefined,
});

export const notificationsSearch = ({ show }: Raw): { show?: "waiting" } => ({
  show: show === "waiting" ? show : undefined,
});

/** `topup` is set by the service when the checkout sends somebody back. */
export const walletSearch = ({ topup, bucket, kind }: Raw): LedgerFilters & { topup?: "done" } => ({
  topup: topup === "done" ? topup : undefined,
  bucket: bucket === "available" || bucket === "held" ? bucket : undefined,
  kind: movementKinds.find((each) => each === kind),
});

export const topupSearch = ({ topup }: Raw): { topup?: "cancelled" } => ({
  topup: topup === "cancelled" ? topup : undefined,
});

/** `onboarding` is set by the service when the onboarding page sends somebody back. */
export const payoutsSearch = ({ onboarding }: Raw): { onboarding?: "done" | "expired" } => ({
  onboarding: onboarding === "done" || onboarding === "expired" ? onboarding : undefined,
});

export const deliveriesSearch = ({ status }: Raw): { status?: WebhookDelivery["status"] } => ({
  status: deliveryStatuses.find((each) => each === status),
});

export const disputesSearch = ({ status }: Raw): { status?: "resolved" } => ({
  status: status === "resolved" ? status : undefined,
});

export const usersSearch = ({ query }: Raw): { query?: string } => ({
  query: query === undefined || query === "" ? undefined : String(query),
});
