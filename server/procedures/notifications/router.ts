import { router } from "../../trpc.ts";
import { list } from "./list.ts";
import { listPreferences } from "./listPreferences.ts";
import { listPush } from "./listPush.ts";
import { read } from "./read.ts";
import { subscribePush } from "./subscribePush.ts";
import { unsubscribePush } from "./unsubscribePush.ts";
import { updatePreferences } from "./updatePreferences.ts";

export const notificationsRouter = router({
  ...{ list, read, listPreferences, updatePreferences },
  ...{ listPush, subscribePush, unsubscribePush },
});
