import { router } from "../../trpc.ts";
import { reputation } from "./reputation.ts";

export const usersRouter = router({ reputation });
