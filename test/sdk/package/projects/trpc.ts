/** A front end with the typed tRPC client. */
import type { Task } from "@rebid/sdk";
import { createRebidClient, errorBodyOf, type RebidRouter } from "@rebid/sdk/trpc";
import type { inferRouterInputs, inferRouterOutputs } from "@trpc/server";

const client = createRebidClient({ baseUrl: "https://rebid.example" });

export async function work(): Promise<Task> {
  const input: inferRouterInputs<RebidRouter>["tasks"]["create"] = {
    title: "A title",
    description: "A text.",
    maxBudgetCents: 1,
    tags: [],
  };
  const output: inferRouterOutputs<RebidRouter>["tasks"]["create"] = await client.tasks.create.mutate(input);
  const { entries } = await client.wallet.ledger.query({});
  void entries[0]?.amountCents;
  client.events.stream.subscribe({ after: "latest" }, { onData: ({ data }) => void data.event?.type });
  void errorBodyOf(new Error())?.error;
  // @ts-expect-error: a title is text
  void client.tasks.create.mutate({ ...input, title: 1 });
  // @ts-expect-error: a query is no mutation
  void client.wallet.read.mutate();
  return output.task;
}
