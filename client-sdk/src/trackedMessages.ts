/** What a subscription of the service yields, as tRPC infers it: messages, each with the id that a client goes on from. */
// biome-ignore lint/suspicious/noExplicitAny: tRPC infers `any` for what `next` takes
export type TrackedMessages<Message> = AsyncIterable<{ id: string; data: Message }, never, any>;
