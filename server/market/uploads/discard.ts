import { type Connection, type Sql, sql } from "../../store/connection.ts";
import type { Refusal } from "./lease.ts";

const gone: Refusal = {
  code: "invalid_input",
  details: { issues: [{ path: "storageKey", message: "The file was deleted." }] },
};

/**
 * Deletes the artifacts for which `which` (a condition) holds, and returns how many. Their uploads are refused for good, so their
 * keys are never finalised again, and the sweep deletes them with all bytes when they are a day old.
 */
export async function discardUploads(connection: Connection, which: Sql): Promise<number> {
  const discarded = await connection.query(sql`
    WITH discarded AS (DELETE FROM artifacts WHERE ${which} RETURNING upload_key)
    UPDATE uploads SET finished = false, sealing_until = NULL, refusal = ${JSON.stringify(gone)}::jsonb
    FROM discarded WHERE storage_key = upload_key RETURNING 1`);
  return discarded.length;
}
