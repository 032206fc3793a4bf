import { router } from "../../trpc.ts";
import { create } from "./create.ts";
import { list } from "./list.ts";
import { onboarding } from "./onboarding.ts";
import { read } from "./read.ts";

export const payoutsRouter = router({ onboarding, create, list, read });
