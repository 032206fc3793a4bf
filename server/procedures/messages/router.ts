import { router } from "../../trpc.ts";
import { conversations } from "./conversations.ts";
import { fileFinalize } from "./fileFinalize.ts";
import { fileInit } from "./fileInit.ts";
import { list } from "./list.ts";
import { read } from "./read.ts";
import { send } from "./send.ts";

export const messagesRouter = router({ list, send, fileInit, fileFinalize, read, conversations });
