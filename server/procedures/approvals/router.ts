import { router } from "../../trpc.ts";
import { approve } from "./approve.ts";
import { decline } from "./decline.ts";
import { list } from "./list.ts";
import { read } from "./read.ts";

export const approvalsRouter = router({ list, read, approve, decline });
