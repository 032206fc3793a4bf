import {
  createTRPCClient,
  httpBatchLink,
  httpLink,
  httpSubscriptionLink,
  splitLink,
  TRPCClientError,
} from "@trpc/client";
import type { inferRouterOutputs } from "@trpc/server";
import type { AppRouter } from "../../../server/procedures/router.ts";

const url = "/trpc";

/** The service, over typed RPC with the session cookie. Reads travel in batches, changes alone with their key. */
export const api = createTRPCClient<AppRouter>({
  links: [
    splitLink({
      condition: ({ type }) => type === "subscription",
      true: httpSubscriptionLink({ url }),
      false: splitLink({
        condition: ({ type }) => type === "mutation",
        true: httpLink({ url, headers: ({ op }) => keyHeader(op.context) }),
        false: httpBatchLink({ url, maxItems: 20 }),
      }),
    }),
  ],
});

const keyHeader = ({ idempotencyKey }: Record<string, unknown>): Record<string, string> =>
  typeof idempotencyKey === "string" ? { "Idempotency-Key": idempotencyKey } : {};

type Outputs = inferRouterOutputs<AppRouter>;

export type User = Outputs["auth"]["me"]["user"];
export type Me = Outputs["auth"]["me"];
export type TaskItem = Outputs["tasks"]["list"]["tasks"][number];
export type TaskStatus = TaskItem["status"];
export type Task = Outputs["tasks"]["create"]["task"];
export type TaskPage = Outputs["tasks"]["read"];
export type TaskOperation = NonNullable<TaskPage["availableActions"]>[number];
export type Bid = NonNullable<TaskPage["bids"]>[number];
export type BidStatus = Bid["status"];
export type Sample = NonNullable<TaskPage["samples"]>[number];
export type Delivery = NonNullable<TaskPage["deliveries"]>[number];
export type Dispute = NonNullable<TaskPage["dispute"]>;
export type Rating = NonNullable<TaskPage["ratings"]>[number];
export type Reputation = Outputs["users"]["reputation"];
export type LedgerEntry = Outputs["wallet"]["ledger"]["entries"][number];
export type Payout = Outputs["payouts"]["list"]["payouts"][number];
export type ApiKey = Outputs["keys"]["list"]["keys"][number];
export type Webhook = Outputs["webhooks"]["list"]["webhooks"][number];
export type WebhookDelivery = Outputs["webhooks"]["deliveries"]["deliveries"][number];
export type DisputeItem = Outputs["disputes"]["list"]["disputes"][number];
export type DisputeCase = Outputs["disputes"]["read"];
export type ModeratedUser = Outputs["users"]["list"]["users"][number];
export type Operations = Outputs["operations"]["read"];
export type ModerationAction = Outputs["moderation"]["listActions"]["actions"][number];

/** A documented refusal. Source: docs/contract.md "Errors". */
export type ApiFailure = NonNullable<TRPCClientError<AppRouter>["data"]>;

/** Returns what the service answered, or null if there was no answer of its own, as without a network. */
export function failureOf(error: unknown): ApiFailure | null {
  return error instanceof TRPCClientError && error.data?.error !== undefined ? error.data : null;
}

/** Whether the same request may succeed later: there was no answer, or the service could not do its work. */
export function isTransient(error: unknown): boolean {
  const code = failureOf(error)?.error;
  return code === undefined || code === "unavailable" || code === "internal_error" || code === "processor_unavailable";
}
