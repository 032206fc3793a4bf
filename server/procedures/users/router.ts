import { router } from "../../trpc.ts";
import { list } from "./list.ts";
import { reinstate } from "./reinstate.ts";
import { reputation } from "./reputation.ts";
import { suspend } from "./suspend.ts";

export const usersRouter = router({ list, reputation, suspend, reinstate });
