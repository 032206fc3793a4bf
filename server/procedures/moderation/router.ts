import { router } from "../../trpc.ts";
import { listActions } from "./listActions.ts";

export const moderationRouter = router({ listActions });
