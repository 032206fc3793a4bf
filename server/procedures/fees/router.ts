import { router } from "../../trpc.ts";
import { read } from "./read.ts";

export const feesRouter = router({ read });
