import { type Connection, sql } from "../store/connection.ts";

/** A VAPID key pair, in base64url. The private key signs requests to push services; it decrypts nothing. */
export interface PushKey {
  readonly generation: number;
  readonly publicKey: string;
  readonly privateKey: string;
}

const columns = sql`generation, public_key AS "publicKey", private_key AS "privateKey"`;

/** Adds a key pair unless another process has added this generation meanwhile. */
async function addKey(connection: Connection, generation: number): Promise<void> {
  const { generateVAPIDKeys } = (await import("web-push")).default;
  const { publicKey, privateKey } = generateVAPIDKeys();
  await connection.query(sql`
    INSERT INTO push_keys (generation, public_key, private_key) VALUES (${generation}, ${publicKey}, ${privateKey})
    ON CONFLICT DO NOTHING`);
}

/** Returns all key pairs, the newest first. */
export function listPushKeys(connection: Connection): Promise<PushKey[]> {
  return connection.query<PushKey>(sql`SELECT ${columns} FROM push_keys ORDER BY generation DESC`);
}

/** Returns the key pair that browsers subscribe with. An installation's first is made when it is first asked for. */
export async function newestPushKey(connection: Connection): Promise<PushKey> {
  const [newest] = await listPushKeys(connection);
  if (newest !== undefined) return newest;
  await addKey(connection, 1);
  return newestPushKey(connection);
}

/** Adds a key pair, which becomes the newest. Older ones stay for the browsers that subscribed with them. */
export async function rotatePushKey(connection: Connection): Promise<PushKey> {
  const { generation } = await newestPushKey(connection);
  await addKey(connection, generation + 1);
  return newestPushKey(connection);
}

/** Deletes key pairs that were replaced 90 days ago: no session is older than that, so no browser has them any more. */
export async function prunePushKeys(connection: Connection): Promise<void> {
  await connection.query(sql`
    DELETE FROM push_keys k USING push_keys next
    WHERE next.generation = k.generation + 1 AND next.created_at < service_now() - interval '90 days'
      AND NOT EXISTS (SELECT FROM push_subscriptions s WHERE s.generation = k.generation)`);
}
