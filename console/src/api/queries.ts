import type { ListOwnTasks, ListWebhookDeliveries } from "@rebid/sdk";
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api, type BidStatus, failureOf, type LedgerEntry, type Me, type TaskStatus } from "./client.ts";
import { isVisitor, setVisitor } from "./visitor.ts";

/** Every read of the console. The first part of a key is what `live.ts` invalidates by. */

export const meQuery = queryOptions({
  queryKey: ["me"],
  queryFn: async ({ signal }): Promise<Me | null> => {
    if (isVisitor()) return null;
    try {
      return await api.auth.me.query(undefined, { signal });
    } catch (error) {
      if (failureOf(error)?.error !== "unauthenticated") throw error;
      setVisitor(true);
      return null;
    }
  },
  staleTime: 60_000,
});

/**
 * The end of the event log before a page's first read, so that the events of `live.ts` begin there, and nothing has to be
 * read a second time when they arrive.
 */
export const logQuery = queryOptions({
  queryKey: ["log"],
  queryFn: async () => {
    if (isVisitor()) return "latest";
    return api.events.list.query({ after: "latest", limit: 1 }).then(
      ({ nextCursor }) => nextCursor,
      () => "latest",
    );
  },
  staleTime: Number.POSITIVE_INFINITY,
});

/** The filters of the feed, as the API has them. Budgets are in cents. */
export interface TaskFilters {
  query?: string;
  tag?: string;
  minBudget?: number;
  maxBudget?: number;
  status?: TaskStatus;
}

export const nextCursorOf = ({ nextCursor }: { nextCursor: string | null }) => nextCursor;
export const firstPage: string | null = null;
const statusOf = <Status>(status: Status | undefined) => (status === undefined ? {} : { status: [status] });
export const pageOf = (cursor: string | null) => (cursor === null ? {} : { cursor });

export const feedQuery = ({ status, ...filters }: TaskFilters) =>
  infiniteQueryOptions({
    queryKey: ["feed", filters, status],
    queryFn: ({ pageParam, signal }) =>
      api.tasks.list.query({ ...filters, ...statusOf(status), ...pageOf(pageParam), limit: 25 }, { signal }),
    initialPageParam: firstPage,
    getNextPageParam: nextCursorOf,
  });

export const taskQuery = (id: string) =>
  queryOptions({ queryKey: ["task", id], queryFn: ({ signal }) => api.tasks.read.query({ id }, { signal }) });

export const taskBidsQuery = (id: string) =>
  infiniteQueryOptions({
    queryKey: ["task", id, "bids"],
    queryFn: ({ pageParam, signal }) =>
      api.bids.listForTask.query({ id, ...pageOf(pageParam), limit: 100 }, { signal }),
    initialPageParam: firstPage,
    getNextPageParam: nextCursorOf,
  });

export const questionsQuery = (id: string) =>
  infiniteQueryOptions({
    queryKey: ["task", id, "questions"],
    queryFn: ({ pageParam, signal }) => api.questions.list.query({ id, ...pageOf(pageParam), limit: 25 }, { signal }),
    initialPageParam: firstPage,
    getNextPageParam: nextCursorOf,
  });

export const agreementsQuery = (id: string) =>
  infiniteQueryOptions({
    queryKey: ["task", id, "agreements"],
    queryFn: ({ pageParam, signal }) => api.agreements.list.query({ id, ...pageOf(pageParam), limit: 25 }, { signal }),
    initialPageParam: firstPage,
    getNextPageParam: nextCursorOf,
  });

export const messagesQuery = (bidId: string) =>
  infiniteQueryOptions({
    queryKey: ["messages", bidId],
    queryFn: ({ pageParam, signal }) =>
      api.messages.list.query({ id: bidId, ...pageOf(pageParam), limit: 50 }, { signal }),
    initialPageParam: firstPage,
    getNextPageParam: nextCursorOf,
  });

export const conversationsQuery = infiniteQueryOptions({
  queryKey: ["conversations"],
  queryFn: ({ pageParam, signal }) => api.messages.conversations.query({ ...pageOf(pageParam), limit: 25 }, { signal }),
  initialPageParam: firstPage,
  getNextPageParam: nextCursorOf,
});

export const notificationsQuery = infiniteQueryOptions({
  queryKey: ["notifications"],
  queryFn: ({ pageParam, signal }) => api.notifications.list.query({ ...pageOf(pageParam), limit: 50 }, { signal }),
  initialPageParam: firstPage,
  getNextPageParam: nextCursorOf,
});

export const preferencesQuery = queryOptions({
  queryKey: ["preferences"],
  queryFn: ({ signal }) => api.notifications.listPreferences.query(undefined, { signal }),
});

export const approvalsQuery = infiniteQueryOptions({
  queryKey: ["approvals"],
  queryFn: ({ pageParam, signal }) => api.approvals.list.query({ ...pageOf(pageParam), limit: 50 }, { signal }),
  initialPageParam: firstPage,
  getNextPageParam: nextCursorOf,
});

/** An approval with what it is about. Few pages need it: how it is read is loaded with them. */
export const approvalQuery = (id: string) =>
  queryOptions({
    queryKey: ["approval", id],
    queryFn: async ({ signal }) => (await import("../pages/approvals/read.ts")).readApproval(id, signal),
  });

export const bidQuery = (id: string) =>
  queryOptions({ queryKey: ["bid", id], queryFn: ({ signal }) => api.bids.read.query({ id }, { signal }) });

export const ownTasksQuery = (role: "buyer" | "bidder", status?: ListOwnTasks["status"]) =>
  infiniteQueryOptions({
    queryKey: ["tasks", role, status],
    queryFn: ({ pageParam, signal }) =>
      api.tasks.listOwn.query({ role, ...(status && { status }), ...pageOf(pageParam), limit: 25 }, { signal }),
    initialPageParam: firstPage,
    getNextPageParam: nextCursorOf,
  });

export const ownBidsQuery = (status?: BidStatus) =>
  infiniteQueryOptions({
    queryKey: ["bids", status],
    queryFn: ({ pageParam, signal }) =>
      api.bids.listOwn.query({ ...statusOf(status), ...pageOf(pageParam), limit: 25 }, { signal }),
    initialPageParam: firstPage,
    getNextPageParam: nextCursorOf,
  });

export const reputationQuery = (id: string) =>
  queryOptions({
    queryKey: ["reputation", id],
    queryFn: ({ signal }) => api.users.reputation.query({ id }, { signal }),
    staleTime: 300_000,
    // A table of bids has one of each bidder: they are not read again and again.
    refetchInterval: false,
  });

export const walletQuery = queryOptions({
  queryKey: ["wallet"],
  queryFn: ({ signal }) => api.wallet.read.query(undefined, { signal }),
});

export interface LedgerFilters {
  bucket?: LedgerEntry["bucket"];
  kind?: LedgerEntry["kind"];
}

export const ledgerQuery = ({ kind, ...filters }: LedgerFilters) =>
  infiniteQueryOptions({
    queryKey: ["wallet", "ledger", filters, kind],
    queryFn: ({ pageParam, signal }) =>
      api.wallet.ledger.query(
        { ...filters, ...(kind && { kind: [kind] }), ...pageOf(pageParam), limit: 100 },
        { signal },
      ),
    initialPageParam: firstPage,
    getNextPageParam: nextCursorOf,
  });

export const payoutsQuery = infiniteQueryOptions({
  queryKey: ["payouts"],
  queryFn: ({ pageParam, signal }) => api.payouts.list.query({ ...pageOf(pageParam), limit: 25 }, { signal }),
  initialPageParam: firstPage,
  getNextPageParam: nextCursorOf,
});

export const keysQuery = queryOptions({
  queryKey: ["keys"],
  queryFn: ({ signal }) => api.keys.list.query(undefined, { signal }),
});

export const keyActivityQuery = (id: string) =>
  queryOptions({
    queryKey: ["keys", id, "activity"],
    queryFn: ({ signal }) => api.keys.activity.query({ id }, { signal }),
  });

export const webhooksQuery = queryOptions({
  queryKey: ["webhooks"],
  queryFn: ({ signal }) => api.webhooks.list.query(undefined, { signal }),
});

export const deliveriesQuery = (id: string, status?: ListWebhookDeliveries["status"]) =>
  infiniteQueryOptions({
    queryKey: ["webhooks", id, "deliveries", status],
    queryFn: ({ pageParam, signal }) =>
      api.webhooks.deliveries.query({ id, ...(status && { status }), ...pageOf(pageParam), limit: 25 }, { signal }),
    initialPageParam: firstPage,
    getNextPageParam: nextCursorOf,
  });

export const sessionsQuery = queryOptions({
  queryKey: ["sessions"],
  queryFn: ({ signal }) => api.auth.listSessions.query(undefined, { signal }),
});

export const disputesQuery = (status: "open" | "resolved") =>
  infiniteQueryOptions({
    queryKey: ["disputes", status],
    queryFn: ({ pageParam, signal }) =>
      api.disputes.list.query({ ...statusOf(status), ...pageOf(pageParam), limit: 25 }, { signal }),
    initialPageParam: firstPage,
    getNextPageParam: nextCursorOf,
  });

export const disputeQuery = (id: string) =>
  queryOptions({ queryKey: ["dispute", id], queryFn: ({ signal }) => api.disputes.read.query({ id }, { signal }) });

export const usersQuery = (query: string | undefined) =>
  infiniteQueryOptions({
    queryKey: ["users", query],
    queryFn: ({ pageParam, signal }) =>
      api.users.list.query({ ...(query && { query }), ...pageOf(pageParam), limit: 25 }, { signal }),
    initialPageParam: firstPage,
    getNextPageParam: nextCursorOf,
  });

export const moderationActionsQuery = infiniteQueryOptions({
  queryKey: ["moderationActions"],
  queryFn: ({ pageParam, signal }) => api.moderation.listActions.query({ ...pageOf(pageParam), limit: 25 }, { signal }),
  initialPageParam: firstPage,
  getNextPageParam: nextCursorOf,
});

export const operationsQuery = queryOptions({
  queryKey: ["operations"],
  queryFn: ({ signal }) => api.operations.read.query(undefined, { signal }),
});
