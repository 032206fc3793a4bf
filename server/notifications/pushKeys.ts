import { type Connection, queryOne, sql } from "../store/connection.ts";

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

/** Makes an installation's first key pair, unless it has one. */
export async function ensurePushKey(connection: Connection): Promise<void> {
  const keys = await listPushKeys(connection);
  if (keys.length === 0) await addKey(connection, 1);
}

/** Returns the key pair that browsers subscribe with. The first start has made one. */
export const newestPushKey = (connection: Connection): Promise<PushKey> =>
  queryOne<PushKey>(connection, sql`SELECT ${columns} FROM push_keys ORDER BY generation DESC LIMIT 1`);

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
