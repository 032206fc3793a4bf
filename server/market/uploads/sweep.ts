import type { Services } from "../../services.ts";
import { sql } from "../../store/connection.ts";
import type { JobPayload } from "../../store/jobPayloads.ts";
import { isUnreconciled } from "../../store/reconciliation.ts";
import { UPLOAD_EXPIRES_IN_SECONDS } from "./declare.ts";
import { discardUploads } from "./discard.ts";
import { isIdle } from "./lease.ts";

/** Source: docs/contract.md "Uploads". */
const UNFINISHED_HOURS = 24;
/** An upload URL may be used until then, also after the upload was finalised. */
const FINISHED_HOURS = UPLOAD_EXPIRES_IN_SECONDS / 3_600;
const UPLOADS_PER_RUN = 500;
const OBJECTS_PER_RUN = 1_000;
const PARALLEL_DELETIONS = 8;

const stages = ["uploads", "samples/", "deliveries/", "briefs/", "messages/"] as const;

/**
 * Deletes uploads that were started a day ago and not finished, files of messages that no message has, and objects whose upload URL has expired and that no unfinished
 * upload accounts for: finalising an upload copies it. Each run does a bounded part and adds the job for the next one. It may
 * be repeated, and run several times in parallel. Artifacts are under another prefix.
 */
export async function sweepUploads(services: Services, payload: JobPayload<"sweepUploads">): Promise<void> {
  // A database that was restored to an earlier time does not know the newest files. If it is restored again, it may need them.
  if (await isUnreconciled(services.database)) return;
  const next = await sweepPart(services, payload, OBJECTS_PER_RUN);
  if (next !== null) await services.database.transaction(async (tx) => tx.jobs.add("sweepUploads", next));
}

/** Sweeps one part, and returns where to go on; null after the last. */
export async function sweepPart(
  services: Services,
  { stage = "uploads", after = "" }: JobPayload<"sweepUploads">,
  objectsPerRun: number,
): Promise<JobPayload<"sweepUploads"> | null> {
  const hoursAgo = (hours: number) => new Date(services.clock.now().getTime() - hours * 3_600_000);
  const nextStage = stages[stages.indexOf(stage) + 1];
  const next = nextStage === undefined ? null : { stage: nextStage };
  if (stage === "uploads") {
    const before = hoursAgo(UNFINISHED_HOURS);
    const counts = [await discardUnused(services, before), await sweepUnfinished(services, before)];
    return counts.every((count) => count < UPLOADS_PER_RUN) ? next : { stage };
  }
  const page = await services.storage.list(stage, after, objectsPerRun);
  const before = hoursAgo(FINISHED_HOURS);
  const old = page.filter(({ modifiedAt }) => modifiedAt < before).map(({ storageKey }) => storageKey);
  await deleteObjects(services, await withoutUpload(services, old));
  const last = page.at(-1);
  return last === undefined || page.length < objectsPerRun ? next : { stage, after: last.storageKey };
}

/** Deletes files that were uploaded for a message and are in none. Returns how many. */
function discardUnused({ database }: Services, before: Date): Promise<number> {
  const unused = sql`
    id IN (
      SELECT id FROM artifacts WHERE kind = 'message' AND message_id IS NULL AND created_at < ${before.toISOString()}::timestamptz
      ORDER BY created_at LIMIT ${UPLOADS_PER_RUN})
    AND message_id IS NULL`; // again behind the row's lock: a message may have taken it meanwhile
  return database.transaction((tx) => discardUploads(tx, unused));
}

/** Returns how many uploads it has found. */
async function sweepUnfinished(services: Services, before: Date): Promise<number> {
  const found = await services.database.query<{ storageKey: string; sealedKey: string | null }>(sql`
    SELECT storage_key AS "storageKey", sealed_key AS "sealedKey" FROM uploads
    WHERE created_at < ${before.toISOString()}::timestamptz AND ${isIdle} ORDER BY created_at LIMIT ${UPLOADS_PER_RUN}`);
  await deleteObjects(
    services,
    found.flatMap(({ storageKey, sealedKey }) => [storageKey, ...(sealedKey === null ? [] : [sealedKey])]),
  );
  // An upload that is being finalised by now has another `sealed_key`, and stays.
  // Again after a deadlock: a trigger adds up what users have left.
  const deletion = sql`
    DELETE FROM uploads USING json_to_recordset(${JSON.stringify(found)}::json) AS found ("storageKey" text, "sealedKey" text)
    WHERE storage_key = "storageKey" AND sealed_key IS NOT DISTINCT FROM "sealedKey" AND ${isIdle}`;
  await services.database.transaction((tx) => tx.query(deletion));
  return found.length;
}

/** Returns those keys that no unfinished upload has. */
async function withoutUpload({ database }: Services, storageKeys: string[]): Promise<string[]> {
  const rows = await database.query<{ storageKey: string }>(sql`
    SELECT storage_key AS "storageKey" FROM uploads
    WHERE storage_key = ANY(${storageKeys}::text[]) AND NOT finished`);
  const unfinished = new Set(rows.map(({ storageKey }) => storageKey));
  return storageKeys.filter((storageKey) => !unfinished.has(storageKey));
}

async function deleteObjects({ storage }: Services, storageKeys: string[]): Promise<void> {
  const keys = storageKeys.values();
  const deleteNext = async () => {
    for (const key of keys) await storage.delete(key);
  };
  await Promise.all(Array.from({ length: PARALLEL_DELETIONS }, deleteNext));
}
