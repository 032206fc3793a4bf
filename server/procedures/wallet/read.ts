import { NoInput } from "../../schemas/common.ts";
import { Wallet } from "../../schemas/wallet.ts";
import { readWallet } from "../../store/ledger.ts";
import { signedIn } from "../../trpc.ts";

export const read = signedIn
  .meta({
    rest: { method: "GET", path: "/wallet" },
    summary: "Read my wallet",
    description:
      "Returns the two buckets of your wallet: `availableCents` can be spent, and `heldCents` backs your tasks " +
      "under way. Both are 0 if you never had any money.",
  })
  .input(NoInput)
  .output(Wallet)
  .query(({ ctx }) => readWallet(ctx.database, ctx.userId));
