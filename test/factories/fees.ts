import { addSchedule } from "../../server/market/fees/schedules.ts";
import type { FeeSchedule } from "../../server/schemas/fee.ts";
import type { TestService } from "../setup/testService.ts";

/** Sets a fee as an operator does: 10 %, at least 100 cents, at most 5,000, with 19 % tax in it, from now on, unless told otherwise. */
export function setFee(
  { services }: { services: Pick<TestService["services"], "database"> },
  terms: Partial<Omit<FeeSchedule, "id" | "from">> & { from?: string } = {},
): Promise<FeeSchedule> {
  const standard = { basisPoints: 1_000, minCents: 100, maxCents: 5_000, taxBasisPoints: 1_900, from: null };
  return services.database.transaction((tx) => addSchedule(tx, { ...standard, ...terms }));
}
