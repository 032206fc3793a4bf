import { router } from "../../trpc.ts";
import { list } from "./list.ts";
import { read } from "./read.ts";
import { resolve } from "./resolve.ts";

export const disputesRouter = router({ list, read, resolve });
