import { expect, test } from "vitest";
import { command } from "../../server/commands/reconcile.ts";
import { createSealedKey } from "../../server/gateways/storage.ts";
import { sql } from "../../server/store/connection.ts";
import { isUnreconciled } from "../../server/store/reconciliation.ts";
import { createPerson } from "../factories/people.ts";
import { deliveredTask } from "../factories/tasks.ts";
import { openTopup, pay } from "../factories/topups.ts";
import { operatorSettings, runHere } from "../setup/commandProcess.ts";
import { useService } from "../setup/testService.ts";
import { testAccount } from "../setup/testStore.ts";

const service = useService({ settings: { processorPollSeconds: 3_600 } });

const reconcile = (...words: string[]) =>
  runHere(command, words, {
    ...operatorSettings(service),
    STRIPE_API_BASE: service.processorUrl,
    S3_ENDPOINT: service.services.storage.origin,
    S3_BUCKET: testAccount.bucket,
    S3_ACCESS_KEY_ID: testAccount.accessKeyId,
    S3_SECRET_ACCESS_KEY: testAccount.secretAccessKey,
  });
const availableOf = async (id: string) => {
  const [wallet] = await service.services.database.query<{ cents: number }>(sql`
    SELECT available_cents AS cents FROM wallets WHERE user_id = ${id}::uuid`);
  return wallet?.cents ?? 0;
};

test("the command shows a paid top-up that is not in the books, books it once, and exits with 0 when nothing is missing", async () => {
  const clean = await reconcile();
  expect([clean.code, clean.stdout]).toEqual([0, expect.stringContaining("The books lack nothing")]);

  const person = await createPerson(service);
  const topup = await openTopup(service, person, 5_000);
  await service.services.database.query(sql`DELETE FROM topups WHERE id = ${topup.id}::uuid`);
  await pay(service, topup);
  const shown = await reconcile();
  expect([shown.code, shown.stderr]).toEqual([1, ""]);
  expect(shown.stdout).toMatch(
    `Missing in the books:\n    top-up ${topup.id} of 5000 usd by user ${person.id}: credited`,
  );
  expect(await availableOf(person.id)).toBe(0);

  const booked = await reconcile("--apply");
  expect([booked.code, booked.stdout]).toEqual([0, expect.stringContaining(`Booked:\n    top-up ${topup.id}`)]);
  expect(await availableOf(person.id)).toBe(5_000);
  const again = await reconcile("--apply");
  expect([again.code, again.stdout]).toEqual([0, expect.stringContaining("The books lack nothing")]);
  expect(await availableOf(person.id)).toBe(5_000);
});

test("--pause pauses payouts, --resume and a clean --apply let them be sent, and a processor that cannot be asked is exit 2", async () => {
  const isPaused = () => isUnreconciled(service.services.database);
  expect((await reconcile("--pause")).stdout).toBe("Payouts are paused.\n");
  expect(await isPaused()).toBe(true);
  expect((await reconcile()).stdout).toContain("Payouts are paused.");
  expect((await reconcile("--apply")).stdout).toContain("Payouts are sent.");
  expect(await isPaused()).toBe(false);
  await reconcile("--pause");
  expect((await reconcile("--resume")).stdout).toBe("Payouts are sent.\n");
  expect(await isPaused()).toBe(false);
  const unreachable = await runHere(command, ["--apply"], operatorSettings(service));
  expect(unreachable.code).toBe(2);
});

test("a file of the books that the bucket lacks, and one of the bucket that the books do not know, are listed and stay", async () => {
  const { storage, database } = service.services;
  const [buyer, bidder] = [await createPerson(service, { cents: 50_000 }), await createPerson(service)];
  const { bid: kept } = await deliveredTask(buyer, bidder);
  const { bid: lost } = await deliveredTask(buyer, bidder);
  const [artifact] = await database.query<{ id: string; storageKey: string; uploadKey: string }>(sql`
    SELECT id, storage_key AS "storageKey", upload_key AS "uploadKey" FROM artifacts WHERE bid_id = ${lost.id}::uuid`);
  if (artifact === undefined) throw new Error("nothing was delivered");
  const unknown = createSealedKey(`deliveries/${kept.id}/${crypto.randomUUID()}`);
  await storage.seal(artifact.storageKey, unknown, 1);
  await storage.delete(artifact.storageKey);

  const { code, stdout } = await reconcile();
  expect(code).toBe(1);
  expect(stdout.match(/sealed\/\S+/g)).toEqual([artifact.storageKey, unknown]);
  expect(stdout).toMatch(/Missing in the bucket.*\n {4}delivery \S+ of task /);
  expect(stdout).toContain(`\n    deliveries of bid ${kept.id}: ${unknown}\n`);
  expect(await storage.head(unknown)).not.toBeNull();

  await storage.seal(unknown, artifact.storageKey, 1);
  expect((await reconcile()).stdout).not.toContain(artifact.storageKey);
});

test.each([
  [["--since", "yesterday"], "--since must be a time"],
  [["--apply", "--pause"], "Choose one of"],
  [["now"], "Unexpected argument: now"],
])("%j is refused with exit 2", async (words, message) => {
  const { code, stderr } = await reconcile(...words);
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
});
