import { router } from "../../trpc.ts";
import { list } from "./list.ts";
import { stream } from "./stream.ts";

export const eventsRouter = router({ list, stream });
