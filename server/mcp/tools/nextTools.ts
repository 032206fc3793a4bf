import type { TaskOperation } from "../../schemas/taskOperation.ts";

/** The tool for each operation on a task. Decisions of moderators have none. */
const toolByOperation: Partial<Record<TaskOperation, string>> = {
  "tasks.update": "change_task",
  "tasks.cancel": "cancel_task",
  "tasks.award": "award_task",
  "tasks.accept": "accept_delivery",
  "tasks.requestChanges": "request_changes",
  "tasks.declineChanges": "decline_changes",
  "agreements.propose": "propose_agreement",
  "agreements.accept": "answer_agreement",
  "agreements.decline": "answer_agreement",
  "agreements.withdraw": "answer_agreement",
  "bids.giveBack": "give_back",
  "tasks.dispute": "dispute_delivery",
  "tasks.rate": "rate",
  "bids.place": "place_bid",
  "bids.update": "place_bid",
  "bids.withdraw": "withdraw_bid",
  "tasks.ask": "ask_question",
  "questions.answer": "answer_question",
  "messages.send": "send_message",
  "bids.deliveryPreflight": "preflight_delivery",
  "bids.deliveryInit": "deliver",
  "bids.sampleInit": "add_sample",
};

/** What there is to compare, to try and to read. */
interface Found {
  bidCount: number;
  checks: readonly unknown[];
  samples?: unknown[];
  deliveries?: unknown[];
}

/** Returns the tools that are possible on a task: those of the operations, and those that show more. */
export function toolsFor(
  operations: readonly TaskOperation[],
  { bidCount, checks, samples = [], deliveries = [] }: Found,
): string[] {
  // A file can always be tried, but without checks there is nothing to try.
  const useful = operations.filter((operation) => operation !== "bids.deliveryPreflight" || checks.length > 0);
  const tools = useful.flatMap((operation) => toolByOperation[operation] ?? []);
  const readers = [
    ...(bidCount > 0 ? ["compare_bids"] : []),
    ...(samples.length + deliveries.length > 0 ? ["read_delivery"] : []),
  ];
  return [...new Set([...readers, ...tools])];
}
