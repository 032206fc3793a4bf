import { type Check, isBuiltIn, type NewCheck } from "../../schemas/check.ts";
import type { CheckResult } from "../../schemas/checkResult.ts";
import type { CallerContext } from "../../trpc.ts";
import { findTaskOfBid } from "../tasks/records.ts";
import { pendingResults, shownResults, withVerdicts } from "../uploads/checkResults.ts";
import { findDeclared, invalidStorageKey } from "../uploads/declare.ts";
import { essenceOf } from "../uploads/mimeType.ts";
import { assertNotDelivered, workOf } from "../uploads/work.ts";
import { type JudgedFile, type Judging, judgeFile } from "./judgeFile.ts";
import { assertUsable, judging, storedChecks } from "./keys.ts";

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
  return tryChecks(ctx, ctx, file, checks);
}

/** Judges these bytes as a delivery of a task with these checks would be, whose buyer the caller would be. */
export async function preflightContent(
  ctx: CallerContext,
  newChecks: readonly NewCheck[],
  { mimeType, content }: { mimeType: string; content: Uint8Array },
): Promise<CheckResult[]> {
  await assertUsable(ctx, { checks: newChecks });
  const { inspector, judge } = ctx;
  const storage = { read: async (_key: string, start: number, end: number) => content.subarray(start, end) };
  const file = { storageKey: "", bytes: content.length, mimeType, sha256: null };
  return tryChecks(ctx, { inspector, judge, storage }, file, storedChecks(newChecks).checks);
}

async function tryChecks(
  { userId, clock }: CallerContext,
  services: Judging,
  file: JudgedFile,
  checks: readonly Check[],
): Promise<CheckResult[]> {
  const verdicts = await judging.run({ key: userId }, () => judgeFile(services, file, checks.filter(isBuiltIn)));
  const results = withVerdicts(pendingResults(checks), checks, verdicts, clock.now());
  return shownResults({ checks: results, endedChecks: null }, false);
}
