/** A program of a user of the package: it has to compile under every setting, and its mistakes must not. */
import { ConflictError, Rebid, RebidError, type Task, type TaskListItem, webhooks } from "@rebid/sdk";
import { fileFrom } from "@rebid/sdk/node";

const rebid = new Rebid({ baseUrl: "https://rebid.example", apiKey: "rb_live_TEST" });

export async function work(optional: string | undefined): Promise<Task> {
  const { task } = await rebid.tasks.create(
    { title: "A title", description: "A text.", maxBudgetCents: 4_000, tags: [], acceptanceCriteria: optional },
    { dryRun: true },
  );
  for await (const item of rebid.tasks.list({ status: ["open"] })) {
    const title: string = item.title;
    void title;
  }
  const items: TaskListItem[] = await rebid.tasks.list().toArray({ limit: 10 });
  const { data, requestId } = await rebid.wallet.read().withResponse();
  const cents: number = data.availableCents + items.length;
  for await (const event of rebid.events.follow({ types: ["bid.received", "payout.updated"] })) {
    if (event.type === "bid.received") void event.data.bid.priceCents;
    else void event.data.payout.status;
    // @ts-expect-error: it is one of two types
    void event.data.sample;
  }
  await rebid.bids.uploadDelivery("id", await fileFrom("a.md"), { onProgress: ({ sentBytes }) => void sentBytes });
  const event = await webhooks.verify("{}", null, "whsec_");
  if (event.type === "task.disputed") void event.data.dispute.reason;
  try {
    await rebid.tasks.award({ id: task.id, bidId: "b", expectedPriceCents: cents });
  } catch (error) {
    if (error instanceof ConflictError && error.code === "bid_changed") void error.priceCents;
    if (error instanceof RebidError && error.code === "insufficient_funds") void error.neededCents;
    // @ts-expect-error: a conflict has another code
    if (error instanceof ConflictError && error.code === "not_found") void requestId;
  }
  // @ts-expect-error: a title is text
  void rebid.tasks.create({ title: 1, description: "", maxBudgetCents: 1, tags: [] });
  // @ts-expect-error: there is no such field
  void rebid.tasks.create({ title: "", description: "", maxBudgetCents: 1, tags: [], budget: 1 });
  // @ts-expect-error: there is no such scope
  void rebid.keys.create({ label: "", scopes: ["*"] });
  // @ts-expect-error: the price that was seen is missing
  void rebid.tasks.award({ id: "", bidId: "" });
  // @ts-expect-error: a top-up cannot be tried
  void rebid.wallet.topup({ amountCents: 500 }, { dryRun: true });
  // @ts-expect-error: there is no such status
  void rebid.tasks.waitFor("", ["done"]);
  // @ts-expect-error: there is no such status
  void rebid.tasks.list({ status: ["opne"] });
  void rebid.tasks.list({ status: ["open", "awarded"] });
  // @ts-expect-error: there is no such operation
  void rebid.tasks.destroy({ id: "" });
  return rebid.tasks.waitFor(task.id, ["delivered", "expired"], { timeoutMs: 5_000 });
}
