import { ApiError } from "../../errors.ts";
import { CreateTask } from "../../schemas/task.ts";
import type { NotPostedBecause } from "../../schemas/topup.ts";
import type { Services, Settings } from "../../services.ts";
import { sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import { Overdraft } from "../../store/databaseErrors.ts";
import { type Movement, movementsWithCommit, writeMovement } from "../../store/ledger.ts";
import { assertKeysReport, assertUsable, storedChecks } from "../checks/keys.ts";
import { insertTask } from "../tasks/insertTask.ts";

const [MIN_CENTS, MAX_CENTS] = [500, 100_000];

/**
 * Returns what has to be paid in so that the wallet can hold the budget of this task. Throws `not_needed` when it can, and `invalid_input`
 * as posting it would.
 */
export async function missingFor(
  caller: Pick<Services, "database" | "judge"> & { userId: string },
  task: CreateTask,
): Promise<number> {
  const { database, userId } = caller;
  const budgetCents = task.maxBudgetCents;
  await assertUsable(caller, task, "forTask.");
  const [wallet] = await database.query<{ availableCents: number; debtCents: number }>(sql`
    SELECT available_cents AS "availableCents", debt_cents AS "debtCents" FROM wallets WHERE user_id = ${userId}::uuid`);
  const { availableCents, debtCents } = wallet ?? { availableCents: 0, debtCents: 0 };
  const missingCents = budgetCents - availableCents + debtCents;
  if (missingCents <= 0) throw new ApiError("not_needed", { neededCents: budgetCents, availableCents });
  if (missingCents > MAX_CENTS) {
    const message = `Your wallet lacks ${missingCents} cents for it, and a top-up is at most ${MAX_CENTS}.`;
    throw new ApiError("invalid_input", { issues: [{ path: "forTask.maxBudgetCents", message }] });
  }
  return Math.max(MIN_CENTS, missingCents);
}

/** A credited top-up for a task. */
interface TopupForTask {
  userId: string;
  /** As it is stored. */
  forTask: unknown;
  /** It was asked for more than 24 hours ago. */
  isLate: boolean;
}

/**
 * Posts the task of a top-up, in the transaction of its credit and under a savepoint: whatever becomes of the task, the credit stands.
 * What is asked of every new task is judged now, in `insertTask`; the money may have been spent meanwhile.
 */
export async function postForTopup(
  tx: Transaction,
  settings: Pick<Settings, "spamGuard">,
  { userId, forTask, isLate }: TopupForTask,
): Promise<{ taskId: string } | { notPostedBecause: NotPostedBecause }> {
  if (isLate) return { notPostedBecause: "too_late" };
  const input = CreateTask.safeParse(forTask).data;
  if (input === undefined) return { notPostedBecause: "invalid_input" };
  await tx.query(sql`SAVEPOINT for_task`);
  try {
    // A debt is paid before the task: otherwise only at the commit.
    await tx.query(sql`SET CONSTRAINTS ALL IMMEDIATE`);
    await assertKeysReport(tx, userId, input.checks ?? []);
    const task = await insertTask(tx, { userId, settings }, input, storedChecks(input.checks));
    const movements: Movement[] = [];
    movementsWithCommit((movement) => movements.push(movement)).hold(userId, task.maxBudgetCents, { taskId: task.id });
    for (const movement of movements) await writeMovement(tx, movement);
    await tx.query(sql`SET CONSTRAINTS ALL DEFERRED`);
    await tx.query(sql`RELEASE SAVEPOINT for_task`);
    tx.events.record("task.created", { task }, "everyone");
    return { taskId: task.id };
  } catch (error) {
    const notPostedBecause = reasonOf(error);
    if (notPostedBecause === null) throw error;
    await tx.query(sql`ROLLBACK TO SAVEPOINT for_task`);
    return { notPostedBecause };
  }
}

/** Null for what may succeed when the whole transaction runs again, and for a bug. */
function reasonOf(error: unknown): NotPostedBecause | null {
  if (error instanceof Overdraft) return "insufficient_funds";
  if (!(error instanceof ApiError)) return null;
  if (error.code === "unauthenticated") return "account_inactive";
  return error.code === "spam_guard" || error.code === "invalid_input" ? error.code : null;
}
