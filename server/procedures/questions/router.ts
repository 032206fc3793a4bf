import { router } from "../../trpc.ts";
import { answer } from "./answer.ts";
import { list } from "./list.ts";
import { remove } from "./remove.ts";

export const questionsRouter = router({ list, answer, remove });
