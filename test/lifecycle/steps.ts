import type { ErrorCode } from "../../server/errors.ts";
import type { Input } from "../setup/operations.ts";

/**
 * The lifecycle of a task, and what can go wrong on the way, as data: who calls which operation with which input, and
 * the expected error. `"$name.path"` in an input is taken from the response to the step of that name; `PERSON` in a
 * text is replaced by the name of the run, which is unique.
 */
export type Step =
  | { name: string; as: Caller; call: string; input?: Input; error?: ErrorCode }
  | { name: string; put: string; content: string; mimeType: string }
  | { name: string; fund: Person; cents: number };

type Person = "buyer" | "bidder" | "rival";
/** With the session, or with the API key that the step "key" made. */
export type Caller = "nobody" | Person | "buyer's key";

const password = "correct horse battery";
const task = {
  title: "Translate a page",
  description: "From English to Finnish.",
  maxBudgetCents: 10_000,
  tags: [" Translation ", "finnish", "FINNISH"],
};
const sample = "Hei, maailma";
const delivery = "Hei, maailma. Hyvää päivää.";
const bytes = (content: string) => new TextEncoder().encode(content).length;
const unknownId = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff";

const upload = { mimeType: "text/plain", bytes: 1 };
const finalize = { storageKey: "x" };

/** Each operation on one task or bid, with an id that does not exist. */
const missing: Step[] = Object.entries({
  "tasks.update": { title: "Nothing" },
  "tasks.cancel": {},
  "tasks.award": { bidId: unknownId },
  "tasks.accept": {},
  "bids.listForTask": {},
  "bids.read": {},
  "bids.update": { priceCents: 1 },
  "bids.withdraw": {},
  "bids.sampleInit": upload,
  "bids.sampleFinalize": finalize,
  "bids.deliveryInit": upload,
  "bids.deliveryFinalize": finalize,
}).map(([call, input]) => ({
  name: `missing ${call}`,
  as: "rival",
  call,
  input: { id: unknownId, ...input },
  error: "not_found",
}));

/** Actions that only a bid's owner may do, tried by a rival. */
const notMine: Step[] = Object.entries({
  "bids.withdraw": {},
  "bids.sampleFinalize": finalize,
  "bids.deliveryInit": upload,
  "bids.deliveryFinalize": finalize,
}).map(([call, input]) => ({
  name: `not mine ${call}`,
  as: "rival",
  call,
  input: { id: "$bid.bid.id", ...input },
  error: "forbidden",
}));

export const lifecycle: Step[] = [
  // People, sessions and keys.
  { name: "noPassword", as: "nobody", call: "auth.signup", input: { email: "x@y.zz" }, error: "invalid_input" },
  {
    name: "shortPassword",
    as: "nobody",
    call: "auth.signup",
    input: { email: "no address", password: "short", displayName: " " },
    error: "invalid_input",
  },
  {
    name: "buyer",
    as: "buyer",
    call: "auth.signup",
    input: { email: "buyer@PERSON.example", password, displayName: "Ada" },
  },
  {
    name: "bidder",
    as: "bidder",
    call: "auth.signup",
    input: { email: " Bidder@PERSON.Example ", password, displayName: "Linus 🐧" },
  },
  {
    name: "rival",
    as: "rival",
    call: "auth.signup",
    input: { email: "rival@PERSON.example", password, displayName: "Eve" },
  },
  {
    name: "emailTaken",
    as: "nobody",
    call: "auth.signup",
    input: { email: "BUYER@PERSON.example", password, displayName: "Ada" },
    error: "email_taken",
  },
  {
    name: "wrongPassword",
    as: "nobody",
    call: "auth.login",
    input: { email: "buyer@PERSON.example", password: "wrong horse" },
    error: "invalid_credentials",
  },
  { name: "login", as: "nobody", call: "auth.login", input: { email: "Buyer@PERSON.example", password } },
  { name: "me", as: "buyer", call: "auth.me" },
  { name: "renamed", as: "rival", call: "auth.update", input: { displayName: "Eve the second" } },
  { name: "resend", as: "rival", call: "auth.resendVerification" },
  { name: "forgot", as: "nobody", call: "auth.forgotPassword", input: { email: "Rival@PERSON.example" } },
  {
    name: "wrongToken",
    as: "nobody",
    call: "auth.resetPassword",
    input: { token: "guessed", newPassword: password },
    error: "invalid_token",
  },
  {
    name: "wrongVerification",
    as: "nobody",
    call: "auth.verifyEmail",
    input: { token: "guessed" },
    error: "invalid_token",
  },
  {
    name: "wrongCurrentPassword",
    as: "buyer",
    call: "auth.changePassword",
    input: { currentPassword: "wrong horse", newPassword: "another horse battery" },
    error: "invalid_credentials",
  },
  {
    name: "passwordChanged",
    as: "rival",
    call: "auth.changePassword",
    input: { currentPassword: password, newPassword: "another horse battery" },
  },
  {
    name: "rivalsLogin",
    as: "nobody",
    call: "auth.login",
    input: { email: "rival@PERSON.example", password: "another horse battery" },
  },
  { name: "rivalsSessions", as: "rival", call: "auth.listSessions" },
  {
    name: "endOthers",
    as: "buyer",
    call: "auth.endSession",
    input: { id: "$rivalsSessions.sessions.0.id" },
    error: "not_found",
  },
  { name: "nobodyIsMe", as: "nobody", call: "auth.me", error: "unauthenticated" },
  {
    name: "keyWithStar",
    as: "buyer",
    call: "keys.create",
    input: { label: "x", scopes: ["*"] },
    error: "invalid_input",
  },
  { name: "key", as: "buyer", call: "keys.create", input: { label: " laptop ", scopes: ["bid:write", "bid:write"] } },
  { name: "keys", as: "buyer", call: "keys.list" },
  { name: "activity", as: "buyer", call: "keys.activity", input: { id: "$key.id" } },
  {
    name: "keyMintsNoKey",
    as: "buyer's key",
    call: "keys.create",
    input: { label: "x", scopes: [] },
    error: "forbidden",
  },
  { name: "keyLacksScope", as: "buyer's key", call: "tasks.create", input: task, error: "missing_scope" },
  { name: "keyMe", as: "buyer's key", call: "auth.me" },

  // Money.
  { name: "emptyWallet", as: "buyer", call: "wallet.read" },
  { name: "noMoney", as: "buyer", call: "tasks.create", input: task, error: "insufficient_funds" },
  { name: "topupTooSmall", as: "buyer", call: "wallet.topup", input: { amountCents: 499 }, error: "invalid_input" },
  { name: "topup", as: "buyer", call: "wallet.topup", input: { amountCents: 500 } },
  { name: "funded", fund: "buyer", cents: 25_000 },

  // A task, and bids on it.
  {
    name: "badTask",
    as: "buyer",
    call: "tasks.create",
    input: { ...task, title: " ", maxBudgetCents: 0 },
    error: "invalid_input",
  },
  { name: "task", as: "buyer", call: "tasks.create", input: task },
  { name: "other", as: "buyer", call: "tasks.create", input: { ...task, acceptanceCriteria: "No typos.", tags: [] } },
  { name: "held", as: "buyer", call: "wallet.read" },
  {
    name: "updated",
    as: "buyer",
    call: "tasks.update",
    input: { id: "$task.task.id", title: "Translate two pages", maxBudgetCents: 12_000 },
  },
  {
    name: "tooDear",
    as: "buyer",
    call: "tasks.update",
    input: { id: "$task.task.id", maxBudgetCents: 90_000 },
    error: "insufficient_funds",
  },
  {
    name: "nothingToUpdate",
    as: "buyer",
    call: "tasks.update",
    input: { id: "$task.task.id" },
    error: "invalid_input",
  },
  {
    name: "notTheBuyer",
    as: "rival",
    call: "tasks.update",
    input: { id: "$task.task.id", title: "Mine" },
    error: "forbidden",
  },
  { name: "noSuchTask", as: "rival", call: "tasks.read", input: { id: unknownId }, error: "not_found" },
  {
    name: "bidOnOwnTask",
    as: "buyer",
    call: "bids.place",
    input: { id: "$task.task.id", priceCents: 1, etaHours: 1 },
    error: "forbidden",
  },
  {
    name: "bidTooHigh",
    as: "bidder",
    call: "bids.place",
    input: { id: "$task.task.id", priceCents: 12_001, etaHours: 1 },
    error: "price_above_budget",
  },
  {
    name: "bidOnNothing",
    as: "bidder",
    call: "bids.place",
    input: { id: unknownId, priceCents: 1, etaHours: 1 },
    error: "not_found",
  },
  {
    name: "bid",
    as: "bidder",
    call: "bids.place",
    input: { id: "$task.task.id", priceCents: 9_000, etaHours: 24.29, notes: "I am Finnish." },
  },
  {
    name: "secondBid",
    as: "bidder",
    call: "bids.place",
    input: { id: "$task.task.id", priceCents: 8_000, etaHours: 24 },
    error: "active_bid_exists",
  },
  {
    name: "rivalBid",
    as: "rival",
    call: "bids.place",
    input: { id: "$task.task.id", priceCents: 7_000, etaHours: 48, notes: "" },
  },
  {
    name: "otherBid",
    as: "rival",
    call: "bids.place",
    input: { id: "$other.task.id", priceCents: 10_000, etaHours: 1, notes: null },
  },
  {
    name: "budgetLocked",
    as: "buyer",
    call: "tasks.update",
    input: { id: "$task.task.id", maxBudgetCents: 11_000 },
    error: "budget_locked_by_bids",
  },
  {
    name: "revisionsLocked",
    as: "buyer",
    call: "tasks.update",
    input: { id: "$task.task.id", revisions: 1 },
    error: "revisions_locked_by_bids",
  },
  { name: "tagsReplaced", as: "buyer", call: "tasks.update", input: { id: "$task.task.id", tags: ["urgent"] } },
  {
    name: "bidEdited",
    as: "bidder",
    call: "bids.update",
    input: { id: "$bid.bid.id", priceCents: 8_500, notes: null },
  },
  {
    name: "bidRaisedTooHigh",
    as: "bidder",
    call: "bids.update",
    input: { id: "$bid.bid.id", priceCents: 12_001 },
    error: "price_above_budget",
  },
  {
    name: "notMyBid",
    as: "rival",
    call: "bids.update",
    input: { id: "$bid.bid.id", priceCents: 1 },
    error: "forbidden",
  },
  { name: "withdrawn", as: "rival", call: "bids.withdraw", input: { id: "$rivalBid.bid.id" } },
  {
    name: "withdrawnTwice",
    as: "rival",
    call: "bids.withdraw",
    input: { id: "$rivalBid.bid.id" },
    error: "wrong_status",
  },
  {
    name: "editWithdrawn",
    as: "rival",
    call: "bids.update",
    input: { id: "$rivalBid.bid.id", etaHours: 2 },
    error: "wrong_status",
  },
  {
    name: "rivalAgain",
    as: "rival",
    call: "bids.place",
    input: { id: "$task.task.id", priceCents: 9_500, etaHours: 5 },
  },
  {
    name: "feed",
    as: "nobody",
    call: "tasks.list",
    input: { tag: "urgent", minBudget: 12_000, maxBudget: 12_000, query: "TWO", limit: 1 },
  },
  {
    name: "badFeed",
    as: "nobody",
    call: "tasks.list",
    input: { limit: 0, status: "closed", cursor: "yesterday" },
    error: "invalid_input",
  },
  { name: "allBids", as: "buyer", call: "bids.listForTask", input: { id: "$task.task.id" } },
  { name: "rivalSeesOwn", as: "rival", call: "bids.listForTask", input: { id: "$task.task.id", limit: 1 } },
  { name: "ownBids", as: "rival", call: "bids.listOwn", input: { status: "active,withdrawn" } },
  { name: "ownBid", as: "rival", call: "bids.read", input: { id: "$rivalAgain.bid.id" } },
  { name: "buyersBid", as: "buyer", call: "bids.read", input: { id: "$bid.bid.id" } },
  { name: "othersBid", as: "rival", call: "bids.read", input: { id: "$bid.bid.id" }, error: "not_found" },
  { name: "publicTask", as: "nobody", call: "tasks.read", input: { id: "$task.task.id" } },
  { name: "buyersTask", as: "buyer", call: "tasks.read", input: { id: "$task.task.id" } },

  // Award.
  {
    name: "uploadTooEarly",
    as: "bidder",
    call: "bids.sampleInit",
    input: { id: "$bid.bid.id", mimeType: "text/plain", bytes: 1 },
    error: "wrong_status",
  },
  {
    name: "awardWithdrawn",
    as: "buyer",
    call: "tasks.award",
    input: { id: "$task.task.id", bidId: "$rivalBid.bid.id" },
    error: "bid_invalid",
  },
  {
    name: "awardOthersBid",
    as: "buyer",
    call: "tasks.award",
    input: { id: "$task.task.id", bidId: "$otherBid.bid.id" },
    error: "bid_invalid",
  },
  {
    name: "awardNoBid",
    as: "buyer",
    call: "tasks.award",
    input: { id: "$task.task.id", bidId: unknownId },
    error: "bid_invalid",
  },
  {
    name: "awardNonsense",
    as: "buyer",
    call: "tasks.award",
    input: { id: "$task.task.id", bidId: "x" },
    error: "invalid_input",
  },
  {
    name: "awardByBidder",
    as: "bidder",
    call: "tasks.award",
    input: { id: "$task.task.id", bidId: "$bid.bid.id" },
    error: "forbidden",
  },
  { name: "acceptTooEarly", as: "buyer", call: "tasks.accept", input: { id: "$task.task.id" }, error: "wrong_status" },
  { name: "awarded", as: "buyer", call: "tasks.award", input: { id: "$task.task.id", bidId: "$bid.bid.id" } },
  {
    name: "awardedTwice",
    as: "buyer",
    call: "tasks.award",
    input: { id: "$task.task.id", bidId: "$bid.bid.id" },
    error: "wrong_status",
  },
  { name: "cancelAwarded", as: "buyer", call: "tasks.cancel", input: { id: "$task.task.id" }, error: "wrong_status" },
  {
    name: "updateAwarded",
    as: "buyer",
    call: "tasks.update",
    input: { id: "$task.task.id", title: "Late" },
    error: "wrong_status",
  },
  {
    name: "bidLate",
    as: "rival",
    call: "bids.place",
    input: { id: "$task.task.id", priceCents: 1, etaHours: 1 },
    error: "wrong_status",
  },
  { name: "withdrawAwarded", as: "bidder", call: "bids.withdraw", input: { id: "$bid.bid.id" }, error: "wrong_status" },
  {
    name: "withdrawRejected",
    as: "rival",
    call: "bids.withdraw",
    input: { id: "$rivalAgain.bid.id" },
    error: "wrong_status",
  },
  {
    name: "cancelByBidder",
    as: "bidder",
    call: "tasks.cancel",
    input: { id: "$other.task.id" },
    error: "forbidden",
  },
  { name: "cancelled", as: "buyer", call: "tasks.cancel", input: { id: "$other.task.id" } },

  // Sample and delivery.
  {
    name: "sampleTooLarge",
    as: "bidder",
    call: "bids.sampleInit",
    input: { id: "$bid.bid.id", mimeType: "image/png", bytes: 10_000_001, dimensions: { width: 9_000, height: 9_000 } },
    error: "sample_too_large",
  },
  {
    name: "sampleOfOddType",
    as: "bidder",
    call: "bids.sampleInit",
    input: { id: "$bid.bid.id", mimeType: "text", bytes: 1 },
    error: "invalid_input",
  },
  {
    name: "sampleWithDepth",
    as: "bidder",
    call: "bids.sampleInit",
    input: { id: "$bid.bid.id", mimeType: "image/png", bytes: 1, dimensions: { width: 1, height: 1, depth: 1 } },
    error: "invalid_input",
  },
  {
    name: "rivalUploads",
    as: "rival",
    call: "bids.sampleInit",
    input: { id: "$rivalAgain.bid.id", mimeType: "text/plain", bytes: 1 },
    error: "wrong_status",
  },
  {
    name: "rivalUploadsForOther",
    as: "rival",
    call: "bids.sampleInit",
    input: { id: "$bid.bid.id", mimeType: "text/plain", bytes: 1 },
    error: "forbidden",
  },
  ...missing,
  ...notMine,
  {
    name: "sampleInit",
    as: "bidder",
    call: "bids.sampleInit",
    input: {
      id: "$bid.bid.id",
      mimeType: "text/plain; charset=utf-8",
      bytes: bytes(sample),
      dimensions: { width: 3, height: 4 },
      durationSec: 5.25,
    },
  },
  {
    name: "sampleNotThere",
    as: "bidder",
    call: "bids.sampleFinalize",
    input: { id: "$bid.bid.id", storageKey: "$sampleInit.storageKey" },
    error: "invalid_input",
  },
  { name: "sampleBytes", put: "$sampleInit.uploadUrl", content: sample, mimeType: "text/plain; charset=utf-8" },
  {
    name: "sampleOfOther",
    as: "bidder",
    call: "bids.sampleFinalize",
    input: { id: "$bid.bid.id", storageKey: "samples/other/key" },
    error: "invalid_input",
  },
  {
    name: "sample",
    as: "bidder",
    call: "bids.sampleFinalize",
    input: { id: "$bid.bid.id", storageKey: "$sampleInit.storageKey" },
  },
  {
    name: "deliveryTooLarge",
    as: "bidder",
    call: "bids.deliveryInit",
    input: { id: "$bid.bid.id", mimeType: "application/zip", bytes: 1_000_000_001 },
    error: "delivery_too_large",
  },
  {
    name: "deliveryInit",
    as: "bidder",
    call: "bids.deliveryInit",
    input: { id: "$bid.bid.id", mimeType: "text/markdown", bytes: bytes(delivery) },
  },
  { name: "deliveryBytes", put: "$deliveryInit.uploadUrl", content: delivery, mimeType: "text/markdown" },
  {
    name: "delivered",
    as: "bidder",
    call: "bids.deliveryFinalize",
    input: { id: "$bid.bid.id", storageKey: "$deliveryInit.storageKey" },
  },
  {
    name: "deliveredTwice",
    as: "bidder",
    call: "bids.deliveryInit",
    input: { id: "$bid.bid.id", mimeType: "text/plain", bytes: 1 },
    error: "wrong_status",
  },
  {
    name: "sampleAfterDelivery",
    as: "bidder",
    call: "bids.sampleFinalize",
    input: { id: "$bid.bid.id", ...finalize },
    error: "wrong_status",
  },
  {
    name: "deliveryAfterDelivery",
    as: "bidder",
    call: "bids.deliveryFinalize",
    input: { id: "$bid.bid.id", storageKey: "$deliveryInit.storageKey" },
    error: "wrong_status",
  },
  { name: "partiesTask", as: "bidder", call: "tasks.read", input: { id: "$task.task.id" } },
  { name: "strangersTask", as: "rival", call: "tasks.read", input: { id: "$task.task.id" } },

  // Accept, and the books.
  { name: "acceptByBidder", as: "bidder", call: "tasks.accept", input: { id: "$task.task.id" }, error: "forbidden" },
  { name: "accepted", as: "buyer", call: "tasks.accept", input: { id: "$task.task.id" } },
  { name: "acceptedTwice", as: "buyer", call: "tasks.accept", input: { id: "$task.task.id" }, error: "wrong_status" },
  { name: "buyersWallet", as: "buyer", call: "wallet.read" },
  { name: "biddersWallet", as: "bidder", call: "wallet.read" },
  { name: "buyersLedger", as: "buyer", call: "wallet.ledger" },
  { name: "biddersLedger", as: "bidder", call: "wallet.ledger", input: { limit: 1 } },

  // The end.
  { name: "activityOfOthers", as: "rival", call: "keys.activity", input: { id: "$key.id" }, error: "not_found" },
  { name: "revokeOthers", as: "rival", call: "keys.revoke", input: { id: "$key.id" }, error: "not_found" },
  { name: "revoked", as: "buyer", call: "keys.revoke", input: { id: "$key.id" } },
  { name: "revokedKey", as: "buyer's key", call: "wallet.read", error: "unauthenticated" },
  { name: "rivalsSessionEnded", as: "rival", call: "auth.endSession", input: { id: "$rivalsSessions.sessions.0.id" } },
  { name: "logout", as: "buyer", call: "auth.logout" },
  { name: "afterLogout", as: "buyer", call: "wallet.read", error: "unauthenticated" },
];
