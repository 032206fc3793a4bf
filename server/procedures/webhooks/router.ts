import { router } from "../../trpc.ts";
import { create } from "./create.ts";
import { deliveries } from "./deliveries.ts";
import { list } from "./list.ts";
import { remove } from "./remove.ts";
import { replay } from "./replay.ts";
import { replaySince } from "./replaySince.ts";
import { test } from "./test.ts";
import { update } from "./update.ts";

export const webhooksRouter = router({ create, list, update, remove, deliveries, test, replaySince, replay });
