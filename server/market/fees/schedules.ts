import type { FeeSchedule, FeeTerms } from "../../schemas/fee.ts";
import { type Connection, queryOne, sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";

/** Columns of `fee_schedules s`. */
const scheduleColumns = sql`
  s.id, s.starts_at AS "from", s.basis_points AS "basisPoints", s.min_cents AS "minCents", s.max_cents AS "maxCents",
  s.tax_basis_points AS "taxBasisPoints"`;

/** Returns every schedule, past, current and future, the one that starts last first; and the current one. */
export async function readSchedules(
  connection: Connection,
): Promise<{ current: FeeSchedule | null; schedules: FeeSchedule[] }> {
  const rows = await connection.query<FeeSchedule & { hasStarted: boolean }>(
    sql`
    SELECT ${scheduleColumns}, s.starts_at <= service_now() AS "hasStarted"
    FROM fee_schedules s ORDER BY s.starts_at DESC, s.created_at DESC`,
    { sharesConnection: true },
  );
  const current = rows.find(({ hasStarted }) => hasStarted) ?? null;
  return { current, schedules: rows };
}

/** The schedule that is current at a time, or null. */
export interface CurrentSchedule {
  at: string;
  schedule: (FeeTerms & { id: string }) | null;
}

/** Returns the current schedule for a price that is being set. No other one can start until the transaction ends. */
export async function keepSchedule(tx: Transaction): Promise<CurrentSchedule> {
  const { at, id, ...terms } = await queryOne<{ at: string; id: string | null } & FeeTerms>(
    tx,
    sql`
    SELECT n.at, (n.schedule).id, (n.schedule).basis_points AS "basisPoints", (n.schedule).min_cents AS "minCents",
           (n.schedule).max_cents AS "maxCents"
    FROM fee_schedule_now() n`,
    { withBegin: true },
  );
  return { at, schedule: id === null ? null : { id, ...terms } };
}

/** Adds a schedule; `from` null is now. The database refuses a time that has passed. */
export function addSchedule(
  tx: Transaction,
  { from, ...terms }: Omit<FeeSchedule, "id" | "from"> & { from: string | null },
): Promise<FeeSchedule> {
  return queryOne<FeeSchedule>(
    tx,
    sql`
    INSERT INTO fee_schedules AS s (starts_at, basis_points, min_cents, max_cents, tax_basis_points)
    VALUES (${from}::timestamptz, ${terms.basisPoints}, ${terms.minCents}, ${terms.maxCents}, ${terms.taxBasisPoints})
    RETURNING ${scheduleColumns}`,
  );
}
