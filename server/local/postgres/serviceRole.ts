import { randomBytes } from "node:crypto";
import pg from "pg";

const SERVICE_ROLE = "rebid_service";

/**
 * Creates the role that the service uses, unless it exists, and returns its URL. It is neither a superuser nor an owner,
 * so that the database's guards hold against the service itself.
 * @param ownerUrl the superuser that the cluster was created with
 * @param previousUrl what the last start returned; its password stays valid, also for commands that are running
 */
export async function ensureServiceRole(ownerUrl: string, previousUrl?: string): Promise<string> {
  const previous = previousUrl === undefined ? null : new URL(previousUrl);
  const isKnown = previous?.username === SERVICE_ROLE && previous.password !== "";
  const password = isKnown ? previous.password : randomBytes(24).toString("base64url");
  const owner = new pg.Client({ connectionString: ownerUrl });
  await owner.connect();
  try {
    const { rowCount } = await owner.query("SELECT FROM pg_roles WHERE rolname = $1", [SERVICE_ROLE]);
    const verb = rowCount === 0 ? "CREATE" : "ALTER";
    await owner.query(`${verb} ROLE ${SERVICE_ROLE} LOGIN PASSWORD ${pg.escapeLiteral(password)}`);
  } finally {
    await owner.end();
  }
  const url = new URL(ownerUrl);
  url.username = SERVICE_ROLE;
  url.password = password;
  return url.href;
}
