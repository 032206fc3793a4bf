import { SEALED_PREFIX, type Storage, uploadKeyOf } from "../../gateways/storage.ts";
import type { Services } from "../../services.ts";
import { type Connection, sql } from "../../store/connection.ts";
import type { Finding } from "./bookkeeping.ts";

const FILES_AT_ONCE = 1_000;

/** A sample or a delivery, as the books have it. */
interface Artifact {
  storageKey: string;
  subject: string;
}

/**
 * Compares the samples and deliveries of the books with the files of the bucket, which are backed up separately. Finds those
 * whose file is missing, as after a restore of an older bucket, and files that the books do not know, as after a restore of an
 * older database. Changes nothing: a file that the books do not know stays.
 */
export async function compareFiles({ database, storage }: Pick<Services, "database" | "storage">): Promise<Finding[]> {
  const found: Finding[] = [];
  let after = SEALED_PREFIX;
  for (let isLast = false; !isLast; ) {
    const page = await storage.list(SEALED_PREFIX, after, FILES_AT_ONCE);
    const files = page.map(({ storageKey }) => storageKey);
    const last = files.at(-1) ?? after;
    isLast = files.length < FILES_AT_ONCE;
    const artifacts = await readArtifacts(database, after, isLast ? null : last);
    const inBucket = new Set(files);
    const inBooks = new Set(artifacts.map(({ storageKey }) => storageKey));
    found.push(
      ...(await withoutFile(
        storage,
        artifacts.filter(({ storageKey }) => !inBucket.has(storageKey)),
      )),
      ...(await withoutArtifact(
        database,
        files.filter((storageKey) => !inBooks.has(storageKey)),
      )),
    );
    after = last;
  }
  return found;
}

/** The bucket lists its files in the order of their bytes. `until` null: all after it. */
function readArtifacts(connection: Connection, after: string, until: string | null): Promise<Artifact[]> {
  return connection.query<Artifact>(sql`
    SELECT storage_key AS "storageKey", format('%s %s of task %s', kind, id, task_id) AS subject FROM artifacts
    WHERE storage_key COLLATE "C" > ${after} AND (${until}::text IS NULL OR storage_key COLLATE "C" <= ${until})
    ORDER BY storage_key COLLATE "C"`);
}

/** Artifacts are found by the key of their upload, for which there is an index. */
const withUpload = (key: string) => ({ key, upload: uploadKeyOf(key) });

/** Each is looked up again, because it may have been stored since the bucket was listed. */
async function withoutFile(storage: Storage, artifacts: readonly Artifact[]): Promise<Finding[]> {
  const found: Finding[] = [];
  for (const { storageKey, subject } of artifacts) {
    if ((await storage.head(storageKey)) === null) found.push({ kind: "missingFile", subject, detail: storageKey });
  }
  return found;
}

/** An upload that is being finalised has its file before it is an artifact. */
async function withoutArtifact(connection: Connection, files: readonly string[]): Promise<Finding[]> {
  if (files.length === 0) return [];
  const unknown = await connection.query<{ storageKey: string }>(sql`
    SELECT file.key AS "storageKey" FROM json_to_recordset(${JSON.stringify(files.map(withUpload))}::json) AS file (key text, upload text)
    WHERE NOT EXISTS (SELECT FROM artifacts WHERE upload_key = file.upload AND storage_key = file.key)
      AND NOT EXISTS (SELECT FROM uploads WHERE storage_key = file.upload AND sealed_key = file.key)`);
  return unknown.map(({ storageKey }) => {
    const [, kind = "", bidId = ""] = storageKey.split("/");
    return { kind: "unknownFile", subject: `${kind} of bid ${bidId}`, detail: storageKey };
  });
}
