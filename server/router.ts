import { authRouter } from "./procedures/auth/router.ts";
import { bidsRouter } from "./procedures/bids/router.ts";
import { disputesRouter } from "./procedures/disputes/router.ts";
import { keysRouter } from "./procedures/keys/router.ts";
import { payoutsRouter } from "./procedures/payouts/router.ts";
import { tasksRouter } from "./procedures/tasks/router.ts";
import { usersRouter } from "./procedures/users/router.ts";
import { walletRouter } from "./procedures/wallet/router.ts";
import { webhooksRouter } from "./procedures/webhooks/router.ts";
import { router } from "./trpc.ts";

export const appRouter = router({
  auth: authRouter,
  keys: keysRouter,
  wallet: walletRouter,
  tasks: tasksRouter,
  bids: bidsRouter,
  payouts: payoutsRouter,
  disputes: disputesRouter,
  users: usersRouter,
  webhooks: webhooksRouter,
});

export type AppRouter = typeof appRouter;
