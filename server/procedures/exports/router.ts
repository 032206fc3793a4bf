import { router } from "../../trpc.ts";
import { create } from "./create.ts";
import { list } from "./list.ts";
import { read } from "./read.ts";

export const exportsRouter = router({ create, list, read });
