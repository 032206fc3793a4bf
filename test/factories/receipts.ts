import { sql } from "../../server/store/connection.ts";
import type { TestService } from "../setup/testService.ts";

/** Returns every number of a receipt that was given out, in its order, with when it was paid. */
export const receiptNumbers = ({ services }: TestService) =>
  services.database.query<{ year: number; number: number; paidAt: string }>(sql`
    SELECT year, number, paid_at AS "paidAt" FROM receipts WHERE number IS NOT NULL ORDER BY year, number`);

/** Returns how many receipts have no number yet. */
export const countUnnumbered = async ({ services }: TestService) =>
  (await services.database.query(sql`SELECT FROM receipts WHERE number IS NULL`)).length;
