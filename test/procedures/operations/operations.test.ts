import { beforeAll, expect, test } from "vitest";
import { auditLedger } from "../../../server/audit/nightly.ts";
import { withdrawFees } from "../../../server/market/fees/withdrawals.ts";
import { sql } from "../../../server/store/connection.ts";
import { setFee } from "../../factories/fees.ts";
import { createModerator } from "../../factories/moderators.ts";
import { createPerson, type TestPerson } from "../../factories/people.ts";
import { deliveredTask } from "../../factories/tasks.ts";
import { rest } from "../../setup/client.ts";
import { expectError } from "../../setup/expectError.ts";
import { useService } from "../../setup/testService.ts";

const service = useService();
let moderator: TestPerson;

beforeAll(async () => {
  moderator = await createModerator(service);
});

const operations = async () => (await moderator.get("/operations")).body;

test("a moderator reads the last audit in full; before the first there is none", async () => {
  expect((await operations()).audit).toBeNull();
  await auditLedger(service.services);
  const { audit } = await operations();
  expect(audit).toMatchObject({ count: 0, discrepancies: [], notCompared: null });
  expect(audit.checks.length).toBeGreaterThan(5);
});

test("a moderator sees what waits, and the payouts under way by state", async () => {
  const before = await operations();
  expect(before.unfinishedPayouts).toContainEqual({ state: "created", count: 0, oldestSeconds: 0 });
  // Nobody runs jobs here.
  await service.services.database.transaction(async (tx) => tx.jobs.add("auditLedger", {}));
  const after = await operations();
  expect(after.waiting).toEqual({ ...before.waiting, jobs: before.waiting.jobs + 1 });
  await service.owner.query(sql`UPDATE graphile_worker._private_jobs SET attempts = max_attempts`);
  expect((await operations()).waiting).toMatchObject({ jobs: 0, failedJobs: after.waiting.jobs });
});

test("a moderator sees what the platform has earned and withdrawn, as soon as there is a fee", async () => {
  expect(Object.keys(await operations())).not.toContain("fees");
  await setFee(service);
  expect((await operations()).fees).toEqual({ platformCents: 0, months: [], withdrawals: [] });
  const [buyer, bidder] = [await createPerson(service, { cents: 20_000 }), await createPerson(service)];
  const { task } = await deliveredTask(buyer, bidder);
  await buyer.post(`/tasks/${task.id}/accept`);
  await withdrawFees(service.services.database, 300, "po_1");
  expect((await operations()).fees).toEqual({
    platformCents: 500,
    months: [{ month: expect.stringMatching(/^\d{4}-\d\d$/), earnedCents: 800, withdrawnCents: 300 }],
    withdrawals: [{ reference: "po_1", amountCents: 300, createdAt: expect.any(String) }],
  });
});

test("nobody but a moderator's session reads it", async () => {
  const person = await createPerson(service);
  expectError(await person.get("/operations"), "forbidden");
  expectError(await rest(service.url, "GET", "/operations", { credentials: moderator.key }), "forbidden");
  expectError(await rest(service.url, "GET", "/operations"), "unauthenticated");
});

test("who am I says whether somebody moderates and has a second factor", async () => {
  const person = await createPerson(service);
  expect((await person.get("/auth/me")).body).toMatchObject({
    ...{ role: "member", hasSecondFactor: false },
    auth: { moderator: false },
  });
  expect((await moderator.get("/auth/me")).body).toMatchObject({ role: "moderator", auth: { moderator: true } });
  const withKey = await rest(service.url, "GET", "/auth/me", { credentials: moderator.key });
  expect(withKey.body).toMatchObject({ role: "moderator", auth: { moderator: false } });
});
