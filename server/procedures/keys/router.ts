import { router } from "../../trpc.ts";
import { activity } from "./activity.ts";
import { create } from "./create.ts";
import { list } from "./list.ts";
import { revoke } from "./revoke.ts";

export const keysRouter = router({ create, list, activity, revoke });
