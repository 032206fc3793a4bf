import { createHash } from "node:crypto";
import type { Brief } from "../../schemas/dispute.ts";
import type { Services } from "../../services.ts";
import type { TaskRecord } from "../tasks/records.ts";
import { readBriefFiles, toBriefFile } from "../uploads/brief.ts";

/**
 * Returns the brief of an awarded task, for those who may see its dispute. The database refuses every change of it since the
 * award, so what is hashed here is what both sides agreed on.
 */
export async function readBrief(
  services: Pick<Services, "database" | "storage">,
  { id, title, description, acceptanceCriteria }: TaskRecord,
): Promise<Brief> {
  const rows = await readBriefFiles(services.database, id);
  const files = await Promise.all(rows.map((row) => toBriefFile(services, row, true)));
  const texts = { acceptanceCriteria, description, title };
  return { ...texts, sha256: createHash("sha256").update(canonicalJson(texts)).digest("hex"), files };
}

/** RFC 8785: the fields in the order of their names, without blanks, and texts as `JSON.stringify` writes them. */
const canonicalJson = ({ acceptanceCriteria, description, title }: Record<string, string | null>) =>
  JSON.stringify({ acceptanceCriteria, description, title });
