import { router } from "../../trpc.ts";
import { advanceClock } from "./advanceClock.ts";
import { clock } from "./clock.ts";

export const testRouter = router({ clock, advanceClock });
