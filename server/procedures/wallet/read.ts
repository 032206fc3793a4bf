import { z } from "zod";
import { Cents, NoInput } from "../../schemas/common.ts";
import { readWallet } from "../../store/ledger.ts";
import { signedIn } from "../../trpc.ts";

/** Returns the caller's two buckets; both are 0 for a user who never had any money. */
export const read = signedIn
  .meta({ rest: { method: "GET", path: "/wallet" }, summary: "Read the wallet" })
  .input(NoInput)
  .output(z.object({ availableCents: Cents, heldCents: Cents }))
  .query(({ ctx }) => readWallet(ctx.database, ctx.userId));
