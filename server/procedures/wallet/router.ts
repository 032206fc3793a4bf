import { router } from "../../trpc.ts";
import { ledger } from "./ledger.ts";
import { read } from "./read.ts";
import { statements } from "./statements.ts";
import { topup } from "./topup.ts";

export const walletRouter = router({ read, ledger, statements, topup });
