import { readPreferences } from "../../notifications/preferences.ts";
import {
  type AccountExport,
  type ExportListName,
  type ExportPosition,
  exportListNames,
  AccountExport as PublicExport,
  printPosition,
  readPosition,
} from "../../schemas/accountExport.ts";
import { timestampOf } from "../../schemas/common.ts";
import { type Connection, empty, queryOne, sql } from "../../store/connection.ts";
import { type QuestionRow, questionOf } from "../conversation/questions.ts";
import { type BidRecord, bidShownTo } from "../fees/ofBid.ts";
import { moderatedUserColumns } from "../moderation/findUsers.ts";
import { type PayoutRow, toPayout } from "../payouts/publicRecord.ts";
import { exportSources } from "./accountLists.ts";

/**
 * A part ends with the record that reaches this size, some 400 records. Others wait while a part is checked and printed: while
 * 20 people fetched exports without a pause, another's `GET /wallet` took 211 ms at most, and 418 ms with parts of 800 kB.
 */
const MAX_PART_BYTES = 200_000;
/** Pages of a list grow: a few large records fill a part, and more would be read in vain. */
const FIRST_PAGE = 8;
const LARGEST_PAGE = 64;

type Row = Record<string, unknown> & { id: string; createdAt: string };

/**
 * Returns everything about a user, or as much of it as fits into a part, starting after `after`. Rows that are written
 * meanwhile may be missing.
 */
export async function exportAccount(
  { database, clock }: { readonly database: Connection; readonly clock: { now(): Date } },
  userId: string,
  after: ExportPosition | null,
): Promise<AccountExport> {
  const profile = await readProfile(database, userId);
  const lists = Object.fromEntries(exportListNames.map((name): [string, unknown[]] => [name, []]));
  let nextPart: string | null = null;
  let bytes = 0;
  for await (const { list, row, position } of rowsOf(database, userId, after)) {
    lists[list]?.push(row);
    bytes += Buffer.byteLength(JSON.stringify(row));
    if (bytes < MAX_PART_BYTES) continue;
    nextPart = printPosition(position);
    break;
  }
  // Every list is there, and its rows are what the export's schema says: the procedure's output is checked against it, which also
  // drops what is not public.
  return { exportedAt: timestampOf(clock.now()), ...profile, ...lists, nextPart } as unknown as AccountExport;
}

/** Everything about a user as the text of one JSON document, whatever its size, in pieces: it is never in memory as records. */
export async function* wholeAccount(
  services: { readonly database: Connection; readonly clock: { now(): Date } },
  userId: string,
): AsyncGenerator<string> {
  // Parsed part by part, which drops what is not public, so that nothing else waits for long.
  const nextOf = async (after: ExportPosition | null) =>
    PublicExport.parse(await exportAccount(services, userId, after));
  let part = await nextOf(null);
  const isList = (name: string) => exportListNames.some((list) => list === name);
  const others = Object.entries({ ...part, nextPart: null }).filter(([name]) => !isList(name));
  yield JSON.stringify(Object.fromEntries(others)).slice(0, -1);
  for (const list of exportListNames) {
    yield `,"${list}":[`;
    for (let between = ""; ; ) {
      if (part[list].length > 0) {
        yield between + JSON.stringify(part[list]).slice(1, -1);
        between = ",";
      }
      // Parts follow the order of the lists.
      const position = part.nextPart === null ? null : readPosition(part.nextPart);
      if (position?.list !== list) break;
      part = await nextOf(position);
    }
    yield "]";
  }
  yield "}";
}

async function* rowsOf(connection: Connection, userId: string, start: ExportPosition | null) {
  const first = start === null ? 0 : exportListNames.indexOf(start.list);
  for (const list of exportListNames.slice(first)) {
    let after = start?.list === list ? start : null;
    for (let limit = FIRST_PAGE; ; limit = Math.min(2 * limit, LARGEST_PAGE)) {
      const rows: Row[] = await readRows(connection, userId, list, after, limit);
      for (const row of rows) {
        after = { list, createdAt: row.createdAt, id: row.id };
        yield { list, row: publicRow(userId, list, row), position: after };
      }
      if (rows.length < limit) break;
    }
  }
}

function readRows(
  connection: Connection,
  userId: string,
  list: ExportListName,
  after: ExportPosition | null,
  limit: number,
): Promise<Row[]> {
  const { select, ownedBy, table } = exportSources[list];
  const order = sql`${table}.created_at, ${table}.id`;
  const rest = after === null ? empty : sql`AND (${order}) > (${after.createdAt}::timestamptz, ${after.id}::uuid)`;
  return connection.query<Row>(sql`
    ${select} WHERE ${ownedBy(sql`${userId}::uuid`)} ${rest} ORDER BY ${order} LIMIT ${limit}`);
}

/** The rows of the other lists are public as they are. The casts say what the list selects. */
function publicRow(userId: string, list: ExportListName, row: Row): unknown {
  if (list === "payouts") return toPayout(row as unknown as PayoutRow);
  if (list === "bids") return bidShownTo(userId, row as unknown as BidRecord);
  return list === "questions" || list === "answers" ? questionOf(row as unknown as QuestionRow) : row;
}

async function readProfile(
  connection: Connection,
  userId: string,
): Promise<Pick<AccountExport, "user" | "preferences" | "wallet" | "payoutAccount">> {
  const user = await queryOne<AccountExport["user"]>(
    connection,
    sql`
    SELECT ${moderatedUserColumns}, u.time_zone AS "timeZone", f.confirmed_at AS "secondFactorSince"
    FROM users u LEFT JOIN totp_factors f ON f.user_id = u.id WHERE u.id = ${userId}::uuid`,
  );
  const [wallet] = await connection.query<AccountExport["wallet"]>(sql`
    SELECT available_cents AS "availableCents", held_cents AS "heldCents", debt_cents AS "debtCents"
    FROM wallets WHERE user_id = ${userId}::uuid`);
  const [payoutAccount] = await connection.query<NonNullable<AccountExport["payoutAccount"]>>(sql`
    SELECT account_id AS "accountId", email, display_name AS "displayName", active, created_at AS "createdAt"
    FROM payout_accounts WHERE user_id = ${userId}::uuid`);
  return {
    user,
    preferences: await readPreferences(connection, userId),
    wallet: wallet ?? { availableCents: 0, heldCents: 0, debtCents: 0 },
    payoutAccount: payoutAccount ?? null,
  };
}
