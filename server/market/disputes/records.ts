import { mayModerate, type Principal } from "../../auth/principal.ts";
import { ApiError } from "../../errors.ts";
import type { Dispute, DisputeCase } from "../../schemas/dispute.ts";
import { type DisputeListItem, EXCERPT_CHARACTERS, excerptOfDispute } from "../../schemas/excerpts.ts";
import type { Services } from "../../services.ts";
import { type Connection, empty, queryOne, type Sql, sql } from "../../store/connection.ts";
import { type Page, pageStatement } from "../../store/cursorLists.ts";
import type { Transaction } from "../../store/database.ts";
import { getBid } from "../bids/records.ts";
import { roleOf, type Talker } from "../conversation/talk.ts";
import { readReputations } from "../reputation.ts";
import { findTask, taskListColumns } from "../tasks/records.ts";
import { readRounds } from "../tasks/rounds.ts";
import { readArtifacts } from "../uploads/artifacts.ts";
import { readBrief } from "./brief.ts";
import { readSaid } from "./said.ts";

const columnsWith = (reason: Sql, note: Sql) => sql`
  d.id, d.task_id AS "taskId", d.opened_by AS "openedBy", ${reason} AS reason, d.status, d.resolution,
  d.buyer_cents AS "buyerCents", d.bidder_cents AS "bidderCents", ${note} AS note, d.created_at AS "createdAt",
  d.resolved_at AS "resolvedAt"`;

/** Columns of `disputes d`. */
export const disputeColumns = columnsWith(sql`d.reason`, sql`d.note`);

/** Columns of `disputes d` for `excerptOfDispute`, with one character more than it keeps. */
const disputeExcerptColumns = columnsWith(
  sql`left(d.reason, ${EXCERPT_CHARACTERS + 1})`,
  sql`left(d.note, ${EXCERPT_CHARACTERS + 1})`,
);

export async function findDispute(connection: Connection, disputeId: string): Promise<Dispute> {
  const [dispute] = await connection.query<Dispute>(sql`
    SELECT ${disputeColumns} FROM disputes d WHERE d.id = ${disputeId}::uuid`);
  if (!dispute) throw new ApiError("not_found");
  return dispute;
}

export async function findDisputeOfTask(connection: Connection, taskId: string): Promise<Dispute | null> {
  const [dispute] = await connection.query<Dispute>(sql`
    SELECT ${disputeColumns} FROM disputes d WHERE d.task_id = ${taskId}::uuid`);
  return dispute ?? null;
}

/**
 * Opens a dispute about a locked task. Disputes are listed oldest first, so a reader could page past a row that commits
 * after a younger one. An advisory lock, held until the commit, keeps `created_at` in commit order.
 */
export async function addDispute(
  tx: Transaction,
  { taskId, openedBy, reason }: Pick<Dispute, "taskId" | "openedBy" | "reason">,
): Promise<Dispute> {
  await tx.query(sql`SELECT pg_advisory_xact_lock(hashtextextended('disputes', 0))`);
  return queryOne<Dispute>(
    tx,
    sql`
    INSERT INTO disputes AS d (task_id, opened_by, reason) VALUES (${taskId}::uuid, ${openedBy}, ${reason})
    RETURNING ${disputeColumns}`,
  );
}

/** Whose disputes to read: all of them (null, for a moderator), or those about tasks that this user is a party to. */
export type DisputeReader = { partyId: string | null };

/**
 * A moderator's session reads every dispute. Other users, and API keys even of a moderator, read the disputes about
 * their own tasks.
 */
export function disputeReader(principal: Principal, settings: { moderatorTotp: boolean }): DisputeReader {
  return { partyId: mayModerate(principal, settings) ? null : principal.userId };
}

/** A condition on `disputes d JOIN tasks t`. The statuses are those of tasks with a dispute, which have indexes by party. */
const isReadableBy = ({ partyId }: DisputeReader) =>
  partyId === null
    ? sql`true`
    : sql`(t.buyer_id = ${partyId}::uuid OR t.awarded_bidder_id = ${partyId}::uuid) AND t.status IN ('disputed', 'resolved')`;

/** Reads a page of disputes, oldest first. */
export async function listDisputes(
  connection: Connection,
  { statuses, reader, ...page }: Page & { reader: DisputeReader; statuses?: string[] | undefined },
): Promise<DisputeListItem[]> {
  const [status, ...others] = statuses ?? [];
  // With one status, its index has the page. With ANY, the planner would step over all that were resolved before.
  const selected = others.length === 0 ? sql`AND d.status = ${status}` : sql`AND d.status = ANY (${statuses}::text[])`;
  const where = sql`${isReadableBy(reader)} ${status === undefined ? empty : selected}`;
  const select = sql`SELECT ${disputeExcerptColumns} FROM disputes d JOIN tasks t ON t.id = d.task_id`;
  const statement = pageStatement("disputes.list", select, where, page);
  // Whether to walk the list or to look up the party's tasks depends on how many disputes the party has.
  const disputes = await connection.query<Dispute>(statement, { plan: reader.partyId === null ? "cached" : "fresh" });
  if (disputes.length === 0) return [];
  type Agreement = Pick<DisputeListItem, "task" | "buyer" | "bidder" | "priceCents">;
  const agreements = await connection.query<Agreement["task"] & Omit<Agreement, "task">>(sql`
    SELECT ${taskListColumns}, b.price_cents AS "priceCents",
           json_build_object('id', buyer.id, 'displayName', buyer.display_name) AS buyer,
           json_build_object('id', bidder.id, 'displayName', bidder.display_name) AS bidder
    FROM tasks t JOIN bids b ON b.id = t.awarded_bid_id
         JOIN users buyer ON buyer.id = t.buyer_id JOIN users bidder ON bidder.id = b.bidder_id
    WHERE t.id = ANY (${disputes.map(({ taskId }) => taskId)}::uuid[])`);
  const byTask = new Map(
    agreements.map(({ priceCents, buyer, bidder, ...task }) => [task.id, { task, buyer, bidder, priceCents }]),
  );
  return disputes.map((dispute) => {
    const agreement = byTask.get(dispute.taskId);
    if (!agreement) throw new Error(`dispute ${dispute.id} has no task or awarded bid`);
    return { ...excerptOfDispute(dispute), ...agreement };
  });
}

/**
 * Returns a dispute with everything that a decision needs. Throws `not_found` if the reader may not see it. Messages are only for
 * a `talker` who may read them.
 */
export async function getDisputeCase(
  services: Pick<Services, "database" | "storage">,
  disputeId: string,
  reader: DisputeReader,
  talker: Talker | null = null,
): Promise<DisputeCase> {
  const { database } = services;
  const [dispute] = await database.query<Dispute>(sql`
    SELECT ${disputeColumns} FROM disputes d JOIN tasks t ON t.id = d.task_id
    WHERE d.id = ${disputeId}::uuid AND ${isReadableBy(reader)}`);
  if (!dispute) throw new ApiError("not_found");
  const task = await findTask(database, dispute.taskId);
  if (task.awardedBidId === null) throw new Error(`dispute ${dispute.id} is about a task without an awarded bid`);
  const bid = await getBid(database, task.awardedBidId);
  const reputations = await readReputations(database, [task.buyerId, bid.bidder.id]);
  const buyer = reputations.find(({ userId }) => userId === task.buyerId);
  const bidder = reputations.find(({ userId }) => userId === bid.bidder.id);
  if (!buyer || !bidder) throw new Error(`dispute ${dispute.id} has no parties`);
  const seesMessages = talker !== null && (await roleOf(database, talker, { task, bid })) !== null;
  const knowsHidden = (talker?.userId ?? reader.partyId) !== task.awardedBidderId || task.closedAt !== null;
  const [brief, artifacts, rounds, said] = await Promise.all([
    readBrief(services, task),
    readArtifacts(services, task.id, knowsHidden),
    readRounds(database, task.id),
    readSaid(services, { task, bid }, seesMessages),
  ]);
  return { dispute, task, brief, bid, ...artifacts, rounds, said, reputations: { buyer, bidder } };
}
