import { router } from "../../trpc.ts";
import { deliveryFinalize } from "./deliveryFinalize.ts";
import { deliveryInit } from "./deliveryInit.ts";
import { deliveryPreflight } from "./deliveryPreflight.ts";
import { giveBack } from "./giveBack.ts";
import { listForTask } from "./listForTask.ts";
import { listOwn } from "./listOwn.ts";
import { place } from "./place.ts";
import { read } from "./read.ts";
import { sampleFinalize } from "./sampleFinalize.ts";
import { sampleInit } from "./sampleInit.ts";
import { update } from "./update.ts";
import { withdraw } from "./withdraw.ts";

export const bidsRouter = router({
  place,
  listForTask,
  listOwn,
  read,
  update,
  withdraw,
  sampleInit,
  sampleFinalize,
  deliveryInit,
  deliveryPreflight,
  deliveryFinalize,
  giveBack,
});
