import { createRebidClient, errorBodyOf, type RebidRouter } from "@rebid/sdk/trpc";
import type { inferRouterInputs, inferRouterOutputs } from "@trpc/server";

/**
 * The service, over typed RPC with the session cookie. Changes are repeated by `useAction`, which also waits for the
 * network, so the client itself repeats nothing.
 */
export const api = createRebidClient({ maxRetries: 0 });

type Outputs = inferRouterOutputs<RebidRouter>;
type Inputs = inferRouterInputs<RebidRouter>;

export type Me = Outputs["auth"]["me"];
export type TaskItem = Outputs["tasks"]["list"]["tasks"][number];
export type OwnTask = Outputs["tasks"]["listOwn"]["tasks"][number];
export type TaskStatus = TaskItem["status"];
export type Task = Outputs["tasks"]["create"]["task"];
export type TaskPage = Outputs["tasks"]["read"];
export type TaskOperation = NonNullable<TaskPage["availableActions"]>[number];
export type Bid = NonNullable<TaskPage["bids"]>[number];
export type BidStatus = Bid["status"];
export type Sample = NonNullable<TaskPage["samples"]>[number];
export type Delivery = NonNullable<TaskPage["deliveries"]>[number];
export type Check = Task["checks"][number];
export type CheckResult = Delivery["checks"][number];
export type NewCheck = NonNullable<Inputs["tasks"]["create"]["checks"]>[number];
export type BriefFile = NonNullable<TaskPage["files"]>[number];
export type Message = Outputs["messages"]["list"]["messages"][number];
export type MessageFile = Message["files"][number];
export type Notification = Outputs["notifications"]["list"]["notifications"][number];
export type Preferences = Outputs["notifications"]["listPreferences"]["preferences"];
export type Conversation = Outputs["messages"]["conversations"]["conversations"][number];
export type Agreement = NonNullable<TaskPage["agreement"]>;
export type Dispute = NonNullable<TaskPage["dispute"]>;
export type Question = Outputs["questions"]["list"]["questions"][number];
export type Rating = NonNullable<TaskPage["ratings"]>[number];
export type Reputation = Outputs["users"]["reputation"];
export type FeeSchedule = Outputs["fees"]["read"]["schedules"][number];
export type LedgerEntry = Outputs["wallet"]["ledger"]["entries"][number];
export type Statement = Outputs["wallet"]["statements"]["statements"][number];
export type LogEvent = Outputs["events"]["list"]["events"][number];
export type ExportedFile = Outputs["exports"]["read"]["export"];
export type Payout = Outputs["payouts"]["list"]["payouts"][number];
export type BankDetails = Outputs["payouts"]["list"]["bankDetails"];
export type Approval = Outputs["approvals"]["read"]["approval"];
export type ApiKey = Outputs["keys"]["list"]["keys"][number];
export type KeyAct = Outputs["keys"]["activity"]["activity"][number];
export type Webhook = Outputs["webhooks"]["list"]["webhooks"][number];
export type WebhookDelivery = Outputs["webhooks"]["deliveries"]["deliveries"][number];
export type DisputeItem = Outputs["disputes"]["list"]["disputes"][number];
export type DisputeCase = Outputs["disputes"]["read"];
export type ModeratedUser = Outputs["users"]["list"]["users"][number];
export type Operations = Outputs["operations"]["read"];
export type ModerationAction = Outputs["moderation"]["listActions"]["actions"][number];

/** Whether these are all fields of a task, which everybody who is signed in gets. */
export const isWhole = (task: TaskPage["task"]): task is Task => task.buyer !== undefined;

/** A documented refusal. Source: docs/contract.md "Errors". */
export type ApiFailure = NonNullable<ReturnType<typeof errorBodyOf>>;

/** Returns what the service answered, or null if there was no answer of its own, as without a network. */
export const failureOf = (error: unknown): ApiFailure | null => errorBodyOf(error) ?? null;

/** Whether the same request may succeed later: there was no answer, or the service could not do its work. */
export function isTransient(error: unknown): boolean {
  const code = failureOf(error)?.error;
  return code === undefined || code === "unavailable" || code === "internal_error" || code === "processor_unavailable";
}
