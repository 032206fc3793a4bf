import { router } from "../../trpc.ts";
import { deliveryFinalize } from "../uploads/deliveryFinalize.ts";
import { deliveryInit } from "../uploads/deliveryInit.ts";
import { sampleFinalize } from "../uploads/sampleFinalize.ts";
import { sampleInit } from "../uploads/sampleInit.ts";
import { listForTask } from "./listForTask.ts";
import { listOwn } from "./listOwn.ts";
import { place } from "./place.ts";
import { update } from "./update.ts";
import { withdraw } from "./withdraw.ts";

export const bidsRouter = router({
  place,
  listForTask,
  listOwn,
  update,
  withdraw,
  sampleInit,
  sampleFinalize,
  deliveryInit,
  deliveryFinalize,
});
