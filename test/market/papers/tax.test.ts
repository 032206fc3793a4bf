import { beforeAll, expect, test } from "vitest";
import { command } from "../../../server/commands/tax.ts";
import { readStatements } from "../../../server/market/papers/statements.ts";
import { earningsAsCsv, readEarnings } from "../../../server/market/papers/tax.ts";
import { setFee } from "../../factories/fees.ts";
import { createPerson, type TestPerson } from "../../factories/people.ts";
import { placeBid, postTask } from "../../factories/tasks.ts";
import { operatorSettings, runHere } from "../../setup/commandProcess.ts";
import { useService } from "../../setup/testService.ts";

const service = useService();
const timeZone = "America/New_York";
/** The last one is in 2027 by UTC, and in the last quarter of 2026 by the zone of the operator. */
const times = ["2026-12-31T12:00:00Z", "2027-01-01T02:00:00Z", "2027-03-31T23:00:00Z", "2027-05-01T00:00:00Z"];
let bidders: TestPerson[];

beforeAll(async () => {
  const buyer = await createPerson(service, { cents: 100_000 });
  bidders = [await createPerson(service), await createPerson(service)];
  await setFee(service, { minCents: 0, maxCents: null });
  const { database } = service.services;
  for (const [index, time] of times.entries()) {
    await service.owner.pool.query(`
      CREATE OR REPLACE FUNCTION service_now() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE
      AS $$ SELECT '${time}'::timestamptz + (clock_timestamp() - statement_timestamp()) $$`);
    for (const [each, bidder] of bidders.entries()) {
      const cents = 1_000 * (index + 1) + each;
      const task = await postTask(buyer);
      const bid = await placeBid(bidder, task.id);
      await database.transaction(async (tx) =>
        tx.ledger.pay(buyer.id, bidder.id, cents, { taskId: task.id, bidId: bid.id }, Math.floor(cents / 10)),
      );
    }
  }
});

test("each bidder and quarter has the sums of the statements' months", async () => {
  for (const year of [2026, 2027]) {
    const earned = await readEarnings(service.services.database, { year, timeZone });
    for (const { id } of bidders) {
      const { statements } = await readStatements(service.services.database, id, { timeZone, limit: 100 });
      const quarterOf = (month: string) => `${month.slice(0, 4)}-Q${Math.ceil(Number(month.slice(5)) / 3)}`;
      const expected = new Map<string, [gross: number, fee: number]>();
      for (const { month, sums, feeCents } of statements.filter((one) => one.month.startsWith(`${year}`))) {
        const gross = sums.find(({ kind }) => kind === "task_earning")?.amountCents ?? 0;
        const [before, fees] = expected.get(quarterOf(month)) ?? [0, 0];
        if (gross > 0 || before > 0) expected.set(quarterOf(month), [before + gross, fees + feeCents]);
      }
      const own = earned.filter(({ bidderId }) => bidderId === id);
      expect(new Map(own.map(({ quarter, grossCents, feeCents }) => [quarter, [grossCents, feeCents]]))).toEqual(
        expected,
      );
      for (const { grossCents, feeCents, netCents } of own) expect(grossCents - feeCents).toBe(netCents);
    }
  }
});

test("a quarter is one of the operator's zone, with its tasks", async () => {
  const [first] = bidders;
  const of2026 = await readEarnings(service.services.database, { year: 2026, timeZone });
  expect(of2026.find(({ bidderId }) => bidderId === first?.id)).toEqual({
    ...{ bidderId: first?.id, email: first?.email, quarter: "2026-Q4" },
    ...{ grossCents: 3_000, feeCents: 300, netCents: 2_700, tasks: 2 },
  });
});

test("npm run tax prints it as CSV", async () => {
  const settings = { ...operatorSettings(service), OPERATOR_TIMEZONE: timeZone };
  const { code, stdout } = await runHere(command, ["2027", "--format", "csv"], settings);
  const earned = await readEarnings(service.services.database, { year: 2027, timeZone });
  expect([code, stdout.trimEnd()]).toEqual([0, earningsAsCsv(earned).trimEnd()]);
  expect(stdout).toMatch(/^bidderId,email,quarter,grossCents,feeCents,netCents,tasks\r\n/);
  expect((await runHere(command, ["27"], settings)).stderr).toContain("YEAR must be a year");
  expect((await runHere(command, ["2027"], settings)).stderr).toContain("--format must be csv.");
});
