import { router } from "../../trpc.ts";
import { listPush } from "./listPush.ts";
import { subscribePush } from "./subscribePush.ts";
import { unsubscribePush } from "./unsubscribePush.ts";

export const notificationsRouter = router({ listPush, subscribePush, unsubscribePush });
