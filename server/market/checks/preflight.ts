import { isBuiltIn } from "../../schemas/check.ts";
import type { CheckResult } from "../../schemas/checkResult.ts";
import type { CallerContext } from "../../trpc.ts";
import { Turns } from "../../turns.ts";
import { findTaskOfBid } from "../tasks/records.ts";
import { pendingResults, shownResults, withVerdicts } from "../uploads/checkResults.ts";
import { findDeclared, invalidStorageKey } from "../uploads/declare.ts";
import { essenceOf } from "../uploads/mimeType.ts";
import { assertNotDelivered, workOf } from "../uploads/work.ts";
import { judgeFile } from "./judgeFile.ts";

/** Users take turns: whoever tries many files delays another by one. */
const judging = new Turns({ running: 2, waiting: 200, waitingPerKey: 10 });

/**
 * Judges an upload as its delivery would be. Throws what delivering it would throw, except for bytes that change under the
 * upload's URL afterwards.
 */
export async function preflight(ctx: CallerContext, bidId: string, storageKey: string): Promise<CheckResult[]> {
  const destination = workOf(ctx, "delivery", bidId);
  const declared = await findDeclared(ctx, destination, storageKey);
  await assertNotDelivered(ctx.database, destination, storageKey);
  const { checks } = await findTaskOfBid(ctx.database, bidId);
  const uploaded = await ctx.storage.head(storageKey);
  if (uploaded === null) throw invalidStorageKey("Nothing has been uploaded under this key yet.");
  if (uploaded.bytes !== declared.bytes || essenceOf(uploaded.mimeType) !== essenceOf(declared.mimeType)) {
    throw invalidStorageKey("The uploaded file has a different size or type than was declared.");
  }
  const file = { storageKey, bytes: declared.bytes, mimeType: declared.mimeType, sha256: uploaded.sha256 };
  const verdicts = await judging.run({ key: ctx.userId }, () => judgeFile(ctx, file, checks.filter(isBuiltIn)));
  const results = withVerdicts(pendingResults(checks), checks, verdicts, ctx.clock.now());
  return shownResults({ checks: results, endedChecks: null }, false);
}
