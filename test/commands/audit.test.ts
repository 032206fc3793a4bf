import { execFile, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readLocalState } from "../../server/local/dataDirectory/claim.ts";
import { cookieOf } from "../factories/people.ts";
import { rest } from "../setup/client.ts";
import { eventually } from "../setup/processorControl.ts";

const root = join(import.meta.dirname, "../..");
let directory = "";
let service: ReturnType<typeof spawn>;

const environment = () => ({ ...process.env, DATA_DIR: directory, PORT: "0", LOG_LEVEL: "error" });

function auditCommand(settings: Record<string, string> = {}): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      ["server/commands/audit.ts"],
      { cwd: root, env: { ...environment(), ...settings } },
      (error, stdout, stderr) =>
        resolve({ code: typeof error?.code === "number" ? error.code : 0, output: stdout + stderr }),
    );
  });
}

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "rebid-audit-"));
});
afterAll(async () => {
  if (service?.exitCode === null) {
    const exited = new Promise((resolve) => service.once("exit", resolve));
    service.kill("SIGTERM");
    await exited;
  }
  await rm(directory, { recursive: true, force: true });
});

test("beside a service that does not run the audit says so", async () => {
  const { code, output } = await auditCommand();
  expect(output).toContain("npm start");
  expect(code).toBe(2);
});

test("beside a live service, embedded parts and all, it exits with 0, with 2 when the processor is away, and with 1 when a cent is off", async () => {
  service = spawn(process.execPath, ["server/start/main.ts"], { cwd: root, env: environment(), stdio: "ignore" });
  const url = await eventually(
    async () => readLocalState(directory)?.serviceUrl ?? "",
    (found) => found !== "",
    50_000,
  );
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
  expect(right.output).toContain("The ledger is right to the cent.");
  expect(right.code).toBe(0);

  const away = {
    STRIPE_SECRET_KEY: "sk_test_x",
    STRIPE_WEBHOOK_SECRET: "whsec_x",
    STRIPE_API_BASE: "http://127.0.0.1:1",
  };
  const partly = await auditCommand(away);
  expect(partly.output).toContain("ok  every movement sums to zero");
  expect(partly.output).toContain("not compared: the processor does not answer");
  expect(partly.code).toBe(2);

  const database = new pg.Client({ connectionString: readLocalState(directory)?.databaseUrl });
  await database.connect();
  await database.query(
    "ALTER TABLE wallets DISABLE TRIGGER ALL; UPDATE wallets SET available_cents = available_cents + 1",
  );
  await database.end();
  const off = await auditCommand();
  expect(off.output).toMatch(/user \S+, available: 5001, should be 5000/);
  expect(off.code).toBe(1);
}, 90_000);
