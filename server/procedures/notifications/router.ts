import { router } from "../../trpc.ts";
import { list } from "./list.ts";
import { listPush } from "./listPush.ts";
import { read } from "./read.ts";
import { subscribePush } from "./subscribePush.ts";
import { unsubscribePush } from "./unsubscribePush.ts";

export const notificationsRouter = router({ list, read, listPush, subscribePush, unsubscribePush });
