import { router } from "../../trpc.ts";
import { accept } from "./accept.ts";
import { decline } from "./decline.ts";
import { list } from "./list.ts";
import { propose } from "./propose.ts";
import { withdraw } from "./withdraw.ts";

export const agreementsRouter = router({ list, propose, accept, decline, withdraw });
