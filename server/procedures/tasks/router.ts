import { router } from "../../trpc.ts";
import { accept } from "./accept.ts";
import { ask } from "./ask.ts";
import { award } from "./award.ts";
import { cancel } from "./cancel.ts";
import { create } from "./create.ts";
import { declineChanges } from "./declineChanges.ts";
import { dispute } from "./dispute.ts";
import { fileFinalize } from "./fileFinalize.ts";
import { fileInit } from "./fileInit.ts";
import { list } from "./list.ts";
import { listOwn } from "./listOwn.ts";
import { preflight } from "./preflight.ts";
import { rate } from "./rate.ts";
import { read } from "./read.ts";
import { removeFile } from "./removeFile.ts";
import { requestChanges } from "./requestChanges.ts";
import { setCheckKey } from "./setCheckKey.ts";
import { update } from "./update.ts";

export const tasksRouter = router({
  list,
  create,
  read,
  update,
  cancel,
  award,
  accept,
  requestChanges,
  declineChanges,
  dispute,
  rate,
  fileInit,
  fileFinalize,
  removeFile,
  setCheckKey,
  preflight,
  ask,
  listOwn,
});
