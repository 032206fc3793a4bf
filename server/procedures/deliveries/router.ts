import { router } from "../../trpc.ts";
import { report } from "./report.ts";

export const deliveriesRouter = router({ report });
