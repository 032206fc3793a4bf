import pg from "pg";
import { expect, test } from "vitest";
import { readLocalState } from "../../server/local/dataDirectory/own.ts";
import { cookieOf } from "../factories/people.ts";
import { rest } from "../setup/client.ts";
import { runScript } from "../setup/commandProcess.ts";
import { eventually } from "../setup/processorControl.ts";
import { useProcesses } from "../setup/serviceProcess.ts";

const { start, dataDirectory, preparedDirectory } = useProcesses();

test("without a running service the audit says so and exits with 2", async () => {
  const { code, stderr } = await runScript("audit", [], { DATA_DIR: await dataDirectory() });
  expect([code, stderr]).toEqual([2, expect.stringContaining("npm start")]);
});

test("beside a live service it exits with 0, with 2 when the processor does not answer, and with 1 when a cent is off", async () => {
  const directory = await preparedDirectory();
  const service = await start({ DATA_DIR: directory });
  await service.ready();
  const { url } = service;
  const auditCommand = (variables: Record<string, string> = {}) =>
    runScript("audit", [], { DATA_DIR: directory, ...variables });
  const body = { email: "a@example.com", password: "correct horse battery", displayName: "A" };
  const credentials = cookieOf(await rest(url, "POST", "/auth/signup", { body }));
  const topup = await rest(url, "POST", "/wallet/topup", { body: { amountCents: 5_000 }, credentials });
  const processorUrl = new URL(topup.body.checkoutUrl).origin;
  await fetch(`${processorUrl}/test/checkout/${topup.body.sessionId}/pay`, { method: "POST" });
  await eventually(
    async () => (await rest(url, "GET", "/wallet", { credentials })).body.availableCents,
    (cents) => cents === 5_000,
  );
  const right = await auditCommand();
  expect(right.stdout).toContain("The ledger is right to the cent.");
  expect(right.code).toBe(0);

  const unreachable = {
    STRIPE_SECRET_KEY: "sk_test_x",
    STRIPE_WEBHOOK_SECRET: "whsec_x",
    STRIPE_API_BASE: "http://127.0.0.1:1",
  };
  const partly = await auditCommand(unreachable);
  expect(partly.stdout).toContain("ok  every movement sums to zero");
  expect(partly.stdout).toContain("not compared: the processor is unreachable");
  expect(partly.code).toBe(2);

  const database = new pg.Client({ connectionString: readLocalState(directory)?.databaseOwnerUrl });
  await database.connect();
  await database.query(
    "ALTER TABLE wallets DISABLE TRIGGER ALL; UPDATE wallets SET available_cents = available_cents + 1",
  );
  await database.end();
  const off = await auditCommand();
  expect(off.stdout).toMatch(/user \S+, available: 5001, should be 5000/);
  expect(off.code).toBe(1);
});
