import type { Transaction } from "../../store/database.ts";
import type { CallerContext } from "../../trpc.ts";
import { addSealed, type SealedRow, sealedColumns } from "../uploads/artifacts.ts";
import type { Destination } from "../uploads/declare.ts";
import type { SealedUpload } from "../uploads/finalize.ts";
import { assertWritable, findTalk, lockTalk } from "./talk.ts";

/** Files of messages, which whoever may write in the bid's conversation uploads. */
export function attachmentsOf(ctx: CallerContext, bidId: string): Destination {
  return {
    ...{ kind: "message", id: bidId },
    mayUpload: async (connection) => assertWritable(await findTalk(connection, ctx, bidId), ctx.clock.now()),
  };
}

/** Records a sealed upload, which its owner may then put into a message. */
export async function addAttachment(
  ctx: CallerContext,
  tx: Transaction,
  bidId: string,
  sealed: SealedUpload | null,
): Promise<SealedRow> {
  assertWritable(await lockTalk(tx, ctx, bidId), ctx.clock.now());
  return addSealed<SealedRow>(tx, { kind: "message", bidId, taskId: null }, sealed, sealedColumns);
}
