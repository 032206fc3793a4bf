import type Provider from "oidc-provider";
import type { z } from "zod";
import { ApiError } from "../../errors.ts";
import { type Connection, sql } from "../../store/connection.ts";
import { hashSecret } from "../secretHash.ts";
import { shownClient } from "./clients.ts";
import { type AskedGrant, allow, assertSession, type ConsentContext, type Decision } from "./consent.ts";
import { READ } from "./grants.ts";
import { askedScopes } from "./provider.ts";
import { resourceOf, resourceUrl } from "./resources.ts";

/** What a program asks that has no browser, and the record that its answer goes into. */
interface AskedByDevice {
  asked: AskedGrant;
  hash: Buffer;
}

type Context = ConsentContext & { settings: { readonly publicUrl: string } };

const gone = () =>
  new ApiError("not_found", { message: "No device shows this code now. Look at it again, or begin anew there." });

/** Finds what the program asks that shows a code and has no answer yet. */
export async function findDevice(context: Context, provider: Provider, typed: string): Promise<AskedByDevice> {
  const { database, clock, settings } = context;
  const userCode = typed.toUpperCase().replace(/[^A-Z]/g, "");
  const [row] = await database.query<{ hash: Buffer; params: Record<string, unknown> }>(sql`
    SELECT hash, payload -> 'params' AS params FROM oauth_records
    WHERE kind = 'DeviceCode' AND user_code_hash = ${hashSecret(userCode)} AND ${isOpen(clock.now())}`);
  const resource = resourceOf(settings.publicUrl, `${row?.params.resource}`);
  const client = await provider.Client.find(`${row?.params.client_id}`);
  if (row === undefined || resource === null || client === undefined) throw gone();
  const { clientId, clientName } = client;
  const shown = shownClient({ clientId, clientName }, client.redirectUris?.[0]);
  return {
    hash: row.hash,
    asked: { client: shown, resource, scopes: askedScopes(row.params.scope), redirectUri: null },
  };
}

const isOpen = (now: Date) =>
  sql`key_id IS NULL AND NOT payload ? 'error' AND expires_at > ${now.toISOString()}::timestamptz`;

/** Records what the person decided; the program learns it when it asks next. */
export async function decideForDevice(
  context: Context,
  { asked, hash }: AskedByDevice,
  given: z.infer<typeof Decision>,
): Promise<void> {
  const { database, clock, settings } = context;
  const { userId } = assertSession(context);
  /** Of two answers, the first counts. */
  const record = async (connection: Connection, answer: object, grantId: string | null) => {
    const changed = await connection.query(sql`
      UPDATE oauth_records SET payload = payload || ${JSON.stringify(answer)}::jsonb, key_id = ${grantId}::uuid
      WHERE kind = 'DeviceCode' AND hash = ${hash} AND ${isOpen(clock.now())} RETURNING 1`);
    if (changed.length === 0) throw gone();
  };
  if (given.decision === "deny") {
    return record(database, { error: "access_denied", errorDescription: "the person said no" }, null);
  }
  await allow(context, asked, given, (tx, grantId) => {
    const scope = [READ, ...asked.scopes].join(" ");
    const answer = { accountId: userId, grantId, scope, resource: resourceUrl(settings.publicUrl, asked.resource) };
    return record(tx, answer, grantId);
  });
}
