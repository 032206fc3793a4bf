/** A front end with TanStack Query: its hooks take the options that the adapter of tRPC makes, as they are. */
import { createRebidClient, errorBodyOf, type RebidRouter, type RebidTrpcClient } from "@rebid/sdk/trpc";
import { QueryClient, useInfiniteQuery, useMutation, useQuery } from "@tanstack/react-query";
import { createTRPCContext, createTRPCOptionsProxy } from "@trpc/tanstack-react-query";

const { TRPCProvider, useTRPC } = createTRPCContext<RebidRouter>();

export const App = (trpcClient: RebidTrpcClient, queryClient: QueryClient) =>
  TRPCProvider({ trpcClient, queryClient, children: null });

export function useTasks(id: string) {
  const rebid = useTRPC();
  const { data: wallet, error } = useQuery(rebid.wallet.read.queryOptions());
  const cents: number | undefined = wallet?.availableCents;
  const code = error?.data?.error;
  if (code === "unauthenticated" || errorBodyOf(error)?.error === "rate_limited") return undefined;
  // @ts-expect-error: there is no such code
  if (code === "no_such_code") return undefined;

  const pages = { getNextPageParam: ({ nextCursor }: { nextCursor: string | null }) => nextCursor };
  const feed = useInfiniteQuery(rebid.tasks.list.infiniteQueryOptions({ status: ["open", "awarded"] }, pages));
  const titles: string[] | undefined = feed.data?.pages.flatMap(({ tasks }) => tasks.map(({ title }) => title));

  const accept = useMutation(
    rebid.tasks.accept.mutationOptions({ onSuccess: ({ task }) => void rebid.tasks.read.queryKey({ id: task.id }) }),
  );
  accept.mutate({ id });
  // @ts-expect-error: an id is text
  accept.mutate({ id: 1 });
  // @ts-expect-error: a query is no mutation
  void rebid.wallet.read.mutationOptions;
  return { cents, titles };
}

/** What the hooks do, without a page. Returns how many tasks there are in all pages, and the code of a refusal. */
export async function work(baseUrl: string): Promise<string> {
  const queryClient = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  const rebid = createTRPCOptionsProxy<RebidRouter>({ client: createRebidClient({ baseUrl }), queryClient });
  const { pages } = await queryClient.fetchInfiniteQuery({
    ...rebid.tasks.list.infiniteQueryOptions({ limit: 1 }, { getNextPageParam: ({ nextCursor }) => nextCursor }),
    pages: 10,
  });
  const kept = queryClient.getQueryData(rebid.tasks.list.infiniteQueryKey({ limit: 1 }));
  const refusal = await queryClient.fetchQuery(rebid.wallet.read.queryOptions()).catch(errorBodyOf);
  return `${kept === undefined ? "nothing" : pages.flatMap(({ tasks }) => tasks).length}, ${refusal && "error" in refusal ? refusal.error : "no refusal"}`;
}
