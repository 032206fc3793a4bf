import type { Services } from "../../services.ts";
import { empty, sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import type { JobPayload } from "../../store/jobPayloads.ts";
import { decideBid } from "../bids/rules.ts";
import { lockBid } from "../tasks/lockBid.ts";
import { moveTask } from "../tasks/moveTask.ts";
import { lockTask } from "../tasks/records.ts";
import { decideTaskAction, momentOf } from "../tasks/rules.ts";
import { withdrawBid } from "../tasks/withdrawBid.ts";

const BATCH = 100;

/**
 * Ends what a suspended user has under way and what binds no one else yet: open tasks are cancelled and active bids withdrawn,
 * by the same rules and with the same events as if they did it. Each in a transaction of its own, so that no lock is held
 * for long, and it can stop anywhere: the next run continues. After the suspension nothing is added, so one pass is enough.
 */
export async function windDown(services: Services, { userId }: JobPayload<"windDown">): Promise<void> {
  const { database } = services;
  await forEachId(
    (after) => database.query<{ id: string }>(openTasks(userId, after)),
    (taskId) => database.transaction((tx) => cancelTask(tx, services, userId, taskId)),
  );
  await forEachId(
    (after) => database.query<{ id: string }>(activeBids(userId, after)),
    (bidId) => database.transaction((tx) => withdraw(tx, userId, bidId)),
  );
  await database.query(sql`UPDATE users SET winding_down = false WHERE id = ${userId}::uuid AND winding_down`);
}

/** Returns suspended users with something left to end, in order of their ids, starting after `after`. */
export function findWindingDown(
  { database }: Services,
  limit: number,
  after: { userId: string } | null,
): Promise<{ userId: string }[]> {
  return database.query<{ userId: string }>(sql`
    SELECT id AS "userId" FROM users
    WHERE winding_down ${after === null ? empty : sql`AND id > ${after.userId}::uuid`} ORDER BY id LIMIT ${limit}`);
}

const openTasks = (userId: string, after: string | null) => sql`
  SELECT id FROM tasks WHERE buyer_id = ${userId}::uuid AND status = 'open'
    ${after === null ? empty : sql`AND id > ${after}::uuid`} ORDER BY id LIMIT ${BATCH}`;

const activeBids = (userId: string, after: string | null) => sql`
  SELECT id FROM bids WHERE bidder_id = ${userId}::uuid AND status = 'active'
    ${after === null ? empty : sql`AND id > ${after}::uuid`} ORDER BY id LIMIT ${BATCH}`;

/** Handles everything that `read` returns, batch by batch. What fails is tried once more at the next run, after the others. */
async function forEachId(
  read: (after: string | null) => Promise<{ id: string }[]>,
  handle: (id: string) => Promise<void>,
): Promise<void> {
  const failures: unknown[] = [];
  for (let after: string | null = null; ; ) {
    const batch = await read(after);
    for (const { id } of batch) await handle(id).catch((error: unknown) => void failures.push(error));
    after = batch.at(-1)?.id ?? null;
    if (batch.length < BATCH) break;
  }
  if (failures.length > 0) throw new AggregateError(failures, `${failures.length} could not be ended`);
}

async function cancelTask(tx: Transaction, services: Services, userId: string, taskId: string): Promise<void> {
  const task = await lockTask(tx, taskId);
  const [actor, moment] = ["buyer" as const, momentOf(services)];
  if (decideTaskAction("cancel", task, actor, moment).refused !== null || !(await isWindingDown(tx, userId))) return;
  await moveTask(tx, "cancel", task, { actor, moment });
}

async function withdraw(tx: Transaction, userId: string, bidId: string): Promise<void> {
  const { bid } = await lockBid(tx, bidId);
  if (decideBid("withdraw", bid.status, "owner").refused !== null || !(await isWindingDown(tx, userId))) return;
  await withdrawBid(tx, bid, "owner");
}

/** Keeps a reinstatement waiting until the transaction ends, so that nothing is ended after it. */
async function isWindingDown(tx: Transaction, userId: string): Promise<boolean> {
  const found = await tx.query(sql`SELECT 1 FROM users WHERE id = ${userId}::uuid AND winding_down FOR SHARE`);
  return found.length > 0;
}
