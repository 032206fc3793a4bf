import type { QueryClient } from "@tanstack/react-query";
import { createRootRouteWithContext, createRoute, lazyRouteComponent, redirect } from "@tanstack/react-router";
import {
  approvalQuery,
  bidQuery,
  disputeQuery,
  feedQuery,
  keysQuery,
  logQuery,
  meQuery,
  operationsQuery,
  reputationQuery,
  taskQuery,
  webhooksQuery,
} from "./api/queries.ts";
import { Root } from "./pages/root.tsx";
import { SignedIn } from "./pages/signedIn.tsx";
import * as search from "./search.ts";

// Every address of the console: what a page takes from it, what is read first, and its file, which is loaded when it is opened.

const root = createRootRouteWithContext<{ queryClient: QueryClient }>()({
  // Pages differ for visitors, so who is here is known before the first one is drawn.
  beforeLoad: ({ context: { queryClient } }) =>
    Promise.all([queryClient.ensureQueryData(meQuery), queryClient.ensureQueryData(logQuery)]),
  component: Root,
});

/** Everything below needs a session: a visitor is asked to sign in, and returns to the page that they wanted. */
const signedIn = createRoute({
  getParentRoute: () => root,
  id: "_signedIn",
  beforeLoad: async ({ context: { queryClient }, location }) => {
    const me = await queryClient.ensureQueryData(meQuery);
    if (me === null) throw redirect({ to: "/sign-in", search: { to: location.href } });
  },
  component: SignedIn,
});

const home = createRoute({
  getParentRoute: () => root,
  path: "/",
  component: lazyRouteComponent(() => import("./pages/home.tsx"), "Home"),
});

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  validateSearch: search.returnSearch,
  component: lazyRouteComponent(() => import("./pages/sign-in.tsx"), "SignIn"),
});

const signUp = createRoute({
  getParentRoute: () => root,
  path: "/sign-up",
  validateSearch: search.returnSearch,
  component: lazyRouteComponent(() => import("./pages/sign-up.tsx"), "SignUp"),
});

const forgotPassword = createRoute({
  getParentRoute: () => root,
  path: "/forgot-password",
  component: lazyRouteComponent(() => import("./pages/forgot-password.tsx"), "ForgotPassword"),
});

const resetPassword = createRoute({
  getParentRoute: () => root,
  path: "/reset-password",
  component: lazyRouteComponent(() => import("./pages/reset-password.tsx"), "ResetPassword"),
});

const verifyEmail = createRoute({
  getParentRoute: () => root,
  path: "/verify-email",
  component: lazyRouteComponent(() => import("./pages/verify-email.tsx"), "VerifyEmail"),
});

const tasks = createRoute({
  getParentRoute: () => root,
  path: "/tasks",
  validateSearch: search.feedSearch,
  loaderDeps: ({ search }) => search,
  loader: ({ context: { queryClient }, deps }) => void queryClient.prefetchInfiniteQuery(feedQuery(deps)),
  component: lazyRouteComponent(() => import("./pages/tasks/index.tsx"), "Browse"),
});

const task = createRoute({
  getParentRoute: () => root,
  path: "/tasks/$taskId",
  loader: ({ context: { queryClient }, params }) => queryClient.ensureQueryData(taskQuery(params.taskId)),
  component: lazyRouteComponent(() => import("./pages/tasks/$taskId.tsx"), "ReadTask"),
});

const user = createRoute({
  getParentRoute: () => root,
  path: "/users/$userId",
  loader: ({ context: { queryClient }, params }) => queryClient.ensureQueryData(reputationQuery(params.userId)),
  component: lazyRouteComponent(() => import("./pages/users/$userId.tsx"), "ReadReputation"),
});

const post = createRoute({
  getParentRoute: () => signedIn,
  path: "/post",
  component: lazyRouteComponent(() => import("./pages/post.tsx"), "PostTask"),
});

const edit = createRoute({
  getParentRoute: () => signedIn,
  path: "/edit/$taskId",
  loader: ({ context: { queryClient }, params }) => queryClient.ensureQueryData(taskQuery(params.taskId)),
  component: lazyRouteComponent(() => import("./pages/edit/$taskId.tsx"), "EditTask"),
});

const work = createRoute({
  getParentRoute: () => signedIn,
  path: "/work",
  validateSearch: search.workSearch,
  component: lazyRouteComponent(() => import("./pages/work.tsx"), "Work"),
});

const conversations = createRoute({
  getParentRoute: () => signedIn,
  path: "/messages",
  component: lazyRouteComponent(() => import("./pages/messages/index.tsx"), "Conversations"),
});

const conversation = createRoute({
  getParentRoute: () => signedIn,
  path: "/messages/$bidId",
  loader: async ({ context: { queryClient }, params }) => {
    const { bid } = await queryClient.ensureQueryData(bidQuery(params.bidId));
    await queryClient.ensureQueryData(taskQuery(bid.taskId));
  },
  component: lazyRouteComponent(() => import("./pages/messages/$bidId.tsx"), "ReadConversation"),
});

const record = createRoute({
  getParentRoute: () => signedIn,
  path: "/disputes/$disputeId",
  loader: ({ context: { queryClient }, params }) => queryClient.ensureQueryData(disputeQuery(params.disputeId)),
  component: lazyRouteComponent(() => import("./pages/disputes/$disputeId.tsx"), "ReadRecord"),
});

const approvals = createRoute({
  getParentRoute: () => signedIn,
  path: "/approvals",
  component: lazyRouteComponent(() => import("./pages/approvals/index.tsx"), "Approvals"),
});
const approval = createRoute({
  getParentRoute: () => signedIn,
  path: "/approvals/$approvalId",
  loader: ({ context: { queryClient }, params }) => queryClient.ensureQueryData(approvalQuery(params.approvalId)),
  component: lazyRouteComponent(() => import("./pages/approvals/$approvalId.tsx"), "ReadApproval"),
});
const notifications = createRoute({
  getParentRoute: () => signedIn,
  path: "/notifications",
  validateSearch: search.notificationsSearch,
  component: lazyRouteComponent(() => import("./pages/notifications.tsx"), "Notifications"),
});

const account = createRoute({
  getParentRoute: () => signedIn,
  path: "/account",
  component: lazyRouteComponent(() => import("./pages/account.tsx"), "Account"),
});

const keys = createRoute({
  getParentRoute: () => signedIn,
  path: "/keys",
  loader: ({ context: { queryClient } }) => queryClient.ensureQueryData(keysQuery),
  component: lazyRouteComponent(() => import("./pages/keys.tsx"), "Keys"),
});

const connect = createRoute({
  getParentRoute: () => signedIn,
  path: "/connect/$uid",
  component: lazyRouteComponent(() => import("./pages/connect.tsx"), "Connect"),
});

const device = createRoute({
  getParentRoute: () => signedIn,
  path: "/device",
  validateSearch: search.deviceSearch,
  component: lazyRouteComponent(() => import("./pages/device.tsx"), "Device"),
});

const webhooks = createRoute({
  getParentRoute: () => signedIn,
  path: "/webhooks",
  loader: ({ context: { queryClient } }) => queryClient.ensureQueryData(webhooksQuery),
  component: lazyRouteComponent(() => import("./pages/webhooks/index.tsx"), "Webhooks"),
});

const webhook = createRoute({
  getParentRoute: () => signedIn,
  path: "/webhooks/$webhookId",
  validateSearch: search.deliveriesSearch,
  loader: ({ context: { queryClient } }) => queryClient.ensureQueryData(webhooksQuery),
  component: lazyRouteComponent(() => import("./pages/webhooks/$webhookId.tsx"), "ReadWebhook"),
});

const walletPlace = createRoute({
  getParentRoute: () => signedIn,
  path: "/wallet",
  component: lazyRouteComponent(() => import("./pages/wallet.tsx"), "WalletPlace"),
});

const wallet = createRoute({
  getParentRoute: () => walletPlace,
  path: "/",
  validateSearch: search.walletSearch,
  component: lazyRouteComponent(() => import("./pages/wallet/index.tsx"), "Wallet"),
});

const topup = createRoute({
  getParentRoute: () => walletPlace,
  path: "/top-up",
  validateSearch: search.topupSearch,
  component: lazyRouteComponent(() => import("./pages/wallet/top-up.tsx"), "TopUp"),
});

const statements = createRoute({
  getParentRoute: () => walletPlace,
  path: "/statements",
  component: lazyRouteComponent(() => import("./pages/wallet/statements.tsx"), "Statements"),
});

const payouts = createRoute({
  getParentRoute: () => walletPlace,
  path: "/payouts",
  validateSearch: search.payoutsSearch,
  component: lazyRouteComponent(() => import("./pages/wallet/payouts.tsx"), "Payouts"),
});

const moderation = createRoute({
  getParentRoute: () => signedIn,
  path: "/moderation",
  component: lazyRouteComponent(() => import("./pages/moderation.tsx"), "Moderation"),
});

const disputes = createRoute({
  getParentRoute: () => moderation,
  path: "/disputes",
  validateSearch: search.disputesSearch,
  component: lazyRouteComponent(() => import("./pages/moderation/disputes/index.tsx"), "Disputes"),
});

const dispute = createRoute({
  getParentRoute: () => moderation,
  path: "/disputes/$disputeId",
  loader: ({ context: { queryClient }, params }) => queryClient.ensureQueryData(disputeQuery(params.disputeId)),
  component: lazyRouteComponent(() => import("./pages/moderation/disputes/$disputeId.tsx"), "ReadDispute"),
});

const users = createRoute({
  getParentRoute: () => moderation,
  path: "/users",
  validateSearch: search.usersSearch,
  component: lazyRouteComponent(() => import("./pages/moderation/users.tsx"), "Users"),
});

const actions = createRoute({
  getParentRoute: () => moderation,
  path: "/actions",
  component: lazyRouteComponent(() => import("./pages/moderation/actions.tsx"), "Actions"),
});

const operations = createRoute({
  getParentRoute: () => moderation,
  path: "/operations",
  loader: ({ context: { queryClient } }) => queryClient.ensureQueryData(operationsQuery),
  component: lazyRouteComponent(() => import("./pages/moderation/operations.tsx"), "ReadOperations"),
});

export const routeTree = root.addChildren([
  ...[home, signIn, signUp, forgotPassword, resetPassword, verifyEmail, tasks, task, user],
  signedIn.addChildren([
    ...[
      post,
      edit,
      work,
      conversations,
      conversation,
      notifications,
      approvals,
      approval,
      record,
      account,
      keys,
      connect,
      device,
      webhooks,
      webhook,
    ],
    walletPlace.addChildren([wallet, topup, payouts, statements]),
    moderation.addChildren([disputes, dispute, users, actions, operations]),
  ]),
]);
