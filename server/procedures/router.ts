import { router } from "../trpc.ts";
import { agreementsRouter } from "./agreements/router.ts";
import { approvalsRouter } from "./approvals/router.ts";
import { authRouter } from "./auth/router.ts";
import { bidsRouter } from "./bids/router.ts";
import { deliveriesRouter } from "./deliveries/router.ts";
import { disputesRouter } from "./disputes/router.ts";
import { eventsRouter } from "./events/router.ts";
import { exportsRouter } from "./exports/router.ts";
import { feesRouter } from "./fees/router.ts";
import { keysRouter } from "./keys/router.ts";
import { messagesRouter } from "./messages/router.ts";
import { moderationRouter } from "./moderation/router.ts";
import { notificationsRouter } from "./notifications/router.ts";
import { operationsRouter } from "./operations/router.ts";
import { payoutsRouter } from "./payouts/router.ts";
import { questionsRouter } from "./questions/router.ts";
import { tasksRouter } from "./tasks/router.ts";
import { testRouter } from "./test/router.ts";
import { usersRouter } from "./users/router.ts";
import { walletRouter } from "./wallet/router.ts";
import { webhooksRouter } from "./webhooks/router.ts";

export const appRouter = router({
  auth: authRouter,
  keys: keysRouter,
  approvals: approvalsRouter,
  wallet: walletRouter,
  tasks: tasksRouter,
  bids: bidsRouter,
  questions: questionsRouter,
  messages: messagesRouter,
  notifications: notificationsRouter,
  payouts: payoutsRouter,
  fees: feesRouter,
  exports: exportsRouter,
  agreements: agreementsRouter,
  deliveries: deliveriesRouter,
  disputes: disputesRouter,
  events: eventsRouter,
  users: usersRouter,
  moderation: moderationRouter,
  operations: operationsRouter,
  webhooks: webhooksRouter,
  test: testRouter,
});

export type AppRouter = typeof appRouter;
