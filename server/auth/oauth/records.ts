import { type Adapter, type AdapterPayload, errors } from "oidc-provider";
import type { Clock } from "../../gateways/clock.ts";
import { findUnacceptable } from "../../schemas/inputBounds.ts";
import { type Connection, sql } from "../../store/connection.ts";
import { hashSecret } from "../secretHash.ts";
import { findGrant, revokeGrant } from "./grants.ts";

interface RecordsOptions {
  database: Connection;
  clock: Clock;
  publicUrl: string;
}

interface Row {
  payload: AdapterPayload;
  used: boolean;
  /** By the service's clock. */
  leftSeconds: number;
}

/**
 * Where the library keeps its records of one kind. It stores the hash of what the client holds, and not the library's `jti`,
 * which is the same in clear. The library reads the machine's clock: what it is told of a record's end is by how much the
 * service's clock is before it, so that the test clock governs.
 */
export class Records implements Adapter {
  readonly #kind: string;
  readonly #options: RecordsOptions;

  constructor(kind: string, options: RecordsOptions) {
    this.#kind = kind;
    this.#options = options;
  }

  async upsert(id: string, payload: AdapterPayload, expiresIn: number): Promise<void> {
    // A browser's session is the service's own, and a grant is a key.
    if (this.#kind === "Session" || this.#kind === "Grant") return;
    const { jti: _, userCode, returnTo: __, exp: ___, ...kept } = payload;
    // It has what the client has sent, such as a `state`.
    const [unacceptable] = findUnacceptable(kept);
    if (unacceptable) throw new errors.InvalidRequest(unacceptable.message);
    const expiresAt = new Date(this.#options.clock.now().getTime() + expiresIn * 1000).toISOString();
    await this.#options.database.query(sql`
      INSERT INTO oauth_records (kind, hash, key_id, user_code_hash, payload, expires_at)
      VALUES (${this.#kind}, ${hashSecret(id)}, ${payload.grantId ?? null}::uuid,
              ${userCode === undefined ? null : hashSecret(userCode)}, ${JSON.stringify(kept)}::jsonb, ${expiresAt}::timestamptz)
      ON CONFLICT (kind, hash) DO UPDATE SET
        key_id = excluded.key_id, payload = excluded.payload, expires_at = excluded.expires_at`);
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    const { database, clock, publicUrl } = this.#options;
    if (this.#kind === "Session") return undefined;
    const nowSeconds = Math.floor(Date.now() / 1000);
    if (this.#kind === "Grant") {
      const grant = await findGrant(database, { grantId: id, publicUrl, now: clock.now() });
      if (grant === null) return undefined;
      const { leftSeconds, ...payload } = grant;
      return { ...payload, kind: "Grant", jti: id, iat: nowSeconds, exp: nowSeconds + leftSeconds };
    }
    const [row] = await database.query<Row>(sql`
      SELECT payload, used_at IS NOT NULL AS used,
             floor(extract(epoch FROM expires_at - ${clock.now().toISOString()}::timestamptz))::int AS "leftSeconds"
      FROM oauth_records WHERE kind = ${this.#kind} AND hash = ${hashSecret(id)}`);
    if (row === undefined) return undefined;
    if (this.#kind === "Client") return row.payload;
    const returnTo = this.#kind === "Interaction" ? `${publicUrl}/oauth/authorize/${id}` : undefined;
    return {
      ...row.payload,
      jti: id,
      exp: nowSeconds + row.leftSeconds,
      ...(row.used && { consumed: true }),
      ...(returnTo && { returnTo }),
    };
  }

  /** Marks a code or refresh token as used. Of several at the same time one succeeds; any other ends the grant. */
  async consume(id: string): Promise<void> {
    const { database, clock } = this.#options;
    const at = clock.now();
    const found = await database.query(sql`
      UPDATE oauth_records SET used_at = ${at.toISOString()}::timestamptz
      WHERE kind = ${this.#kind} AND hash = ${hashSecret(id)} AND used_at IS NULL RETURNING 1`);
    if (found.length > 0) return;
    const [row] = await database.query<{ keyId: string }>(sql`
      SELECT key_id AS "keyId" FROM oauth_records WHERE kind = ${this.#kind} AND hash = ${hashSecret(id)}`);
    if (row) await revokeGrant(database, row.keyId, at);
    throw new errors.InvalidGrant("already used");
  }

  async destroy(id: string): Promise<void> {
    const { database, clock } = this.#options;
    if (this.#kind === "Session") return;
    if (this.#kind === "Grant") return revokeGrant(database, id, clock.now());
    // A used refresh token is kept, so that each later use of it ends the grant, which it did already.
    await database.query(sql`DELETE FROM oauth_records WHERE kind = ${this.#kind} AND hash = ${hashSecret(id)}`);
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    await this.#options.database.query(sql`
      DELETE FROM oauth_records WHERE kind = ${this.#kind} AND key_id = ${grantId}::uuid`);
  }

  /** The service's own page reads device codes by what a person types. */
  async findByUserCode(): Promise<undefined> {}

  /** There are no sessions of the library. */
  async findByUid(): Promise<undefined> {}
}
