import { mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { describeDestinations } from "../../server/commands/doctor/processor.ts";
import { examineStorage } from "../../server/commands/doctor/storage.ts";
import { command } from "../../server/commands/doctor.ts";
import type { EventDestination } from "../../server/gateways/processorRecords.ts";
import { startMailbox } from "../../server/local/mailbox/start.ts";
import { missedEventTypes } from "../../server/market/processorEvents/inbox.ts";
import { migrateDatabase } from "../../server/store/schema.ts";
import { operatorSettings, runHere } from "../setup/commandProcess.ts";
import { useService } from "../setup/testService.ts";
import { testAccount } from "../setup/testStore.ts";
import { unusedPort } from "../setup/unusedPort.ts";

const service = useService();
const directories: string[] = [];
let healthy: Record<string, string>;

beforeAll(async () => {
  // A clone of a database does not have its grants on the database itself.
  await migrateDatabase(service.ownerUrl, service.databaseUrl);
  const mailbox = await startMailbox({ directory: await temporaryDirectory() });
  afterAll(mailbox.stop);
  healthy = {
    ...operatorSettings(service),
    DATABASE_OWNER_URL: service.ownerUrl,
    STRIPE_API_BASE: service.processorUrl,
    S3_ENDPOINT: service.services.storage.origin,
    S3_BUCKET: testAccount.bucket,
    S3_ACCESS_KEY_ID: testAccount.accessKeyId,
    S3_SECRET_ACCESS_KEY: testAccount.secretAccessKey,
    SMTP_URL: mailbox.smtpUrl,
    MAIL_FROM: "Rebid <rebid@example.com>",
  };
});
afterAll(async () => {
  for (const directory of directories) await rm(directory, { recursive: true });
});

async function temporaryDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "rebid-doctor-"));
  directories.push(directory);
  return directory;
}

/** Serves on a port of the test's own. */
async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function doctor(variables: Record<string, string> = {}, words: string[] = []) {
  const { code, stdout, stderr } = await runHere(command, words, { ...healthy, ...variables });
  const lines = stdout.split("\n");
  const of = (kind: string) => lines.filter((line) => line.startsWith(`${kind} `)).map((line) => line.slice(9));
  return { code, stdout, stderr, problems: of("problem"), warnings: of("warning"), inOrder: of("ok") };
}

test("an installation in order: every subject was looked at, exit 0, and nothing is left in the bucket", async () => {
  const { code, problems, warnings, inOrder, stdout } = await doctor();
  // The tests' server is fast rather than safe.
  expect([problems, warnings, code]).toEqual([[], [expect.stringContaining("can lose what was acknowledged")], 0]);
  const subjects = ["settings", "database", "files", "payments", "mail", "address"];
  expect([...new Set(inOrder.map((line) => line.split(" ")[0]))]).toEqual(subjects);
  expect(stdout).toContain("the owner's role owns every table");
  expect(stdout).toContain(`all events arrive at ${service.url}/processor/events`);
  for (const prefix of ["doctor/", "sealed/doctor/"]) {
    expect(await service.services.storage.list(prefix, "", 10)).toEqual([]);
  }
});

describe("what stops the service is a problem with advice, exit 1, and the other subjects are still looked at", () => {
  const nowhere = "127.0.0.1:1";
  test.each<[string, () => Record<string, string>, RegExp]>([
    [
      "no database",
      () => ({ DATABASE_URL: `postgres://rebid:hunter2secret@${nowhere}/rebid` }),
      /^database {2}it cannot/,
    ],
    [
      "a wrong owner",
      () => ({ DATABASE_OWNER_URL: `postgres://o:hunter2secret@${nowhere}/r` }),
      /DATABASE_OWNER_URL cannot/,
    ],
    ["an owner of nothing", () => ({ DATABASE_OWNER_URL: service.databaseUrl }), /does not own .*ledger_entries/],
    ["wrong keys of the bucket", () => ({ S3_SECRET_ACCESS_KEY: "hunter2secret" }), /upload .* refused with 403/],
    ["no object store", () => ({ S3_ENDPOINT: `http://${nowhere}` }), /^files {5}it cannot be used/],
    ["a wrong key of the processor", () => ({ STRIPE_SECRET_KEY: "sk_test_hunter2secret" }), /^payments {2}.*refuses/],
    ["no mail server", () => ({ SMTP_URL: `smtp://me:hunter2secret@${nowhere}` }), /^mail {6}.*cannot be used/],
    ["a name that does not exist", () => ({ PUBLIC_URL: "http://rebid.invalid" }), /rebid\.invalid does not respond/],
  ])("%s", async (_name, variables, expected) => {
    const { code, problems, inOrder, stdout, stderr } = await doctor(variables());
    expect(problems).toContainEqual(expect.stringMatching(expected));
    expect(code).toBe(1);
    expect(new Set(inOrder.map((line) => line.split(" ")[0])).size).toBeGreaterThanOrEqual(5);
    expect(stdout + stderr).not.toContain("hunter2secret");
  });

  test("a setting that a start refuses", async () => {
    const { code, problems } = await doctor({ PORT: "http", PUBLIC_URL: "ftp://x" });
    expect([code, problems.length]).toEqual([1, 2]);
    const production = await doctor({ NODE_ENV: "production" });
    expect([production.code, production.problems]).toEqual([1, [expect.stringContaining("PUBLIC_URL must begin")]]);
  });

  test("an older schema, and a role without its rights", async () => {
    const { pool } = service.owner;
    const { rows } = await pool.query("DELETE FROM _prisma_migrations WHERE migration_name > '20261124' RETURNING *");
    const older = await doctor();
    for (const row of rows) {
      const names = Object.keys(row).map((name) => `"${name}"`);
      const values = names.map((_, index) => `$${index + 1}`);
      await pool.query(`INSERT INTO _prisma_migrations (${names}) VALUES (${values})`, Object.values(row));
    }
    expect(rows.length).toBeGreaterThan(0);
    expect(older.problems).toEqual([expect.stringContaining("schema does not fit")]);
    expect(older.stdout).toContain("npm run migrate");

    await pool.query("REVOKE SELECT ON ratings FROM rebid_service");
    const lacking = await doctor();
    await pool.query("GRANT SELECT ON ratings TO rebid_service");
    expect([lacking.code, lacking.problems]).toEqual([1, [expect.stringContaining("lacks rights to ratings")]]);
  });

  test("another server at the address, or a proxy that TRUST_PROXY does not know", async () => {
    const other = await serve((_request, response) => response.end("<h1>It works</h1>"));
    expect((await doctor({ PUBLIC_URL: other })).problems).toContainEqual(expect.stringContaining("not by Rebid"));

    const proxied = await serve((_request, response) => response.setHeader("Server", "nginx").end('{"status":"ok"}'));
    const untrusted = await doctor({ PUBLIC_URL: proxied });
    expect(untrusted.problems).toContainEqual(expect.stringContaining("a proxy (nginx) is in front"));
    expect((await doctor({ PUBLIC_URL: proxied, TRUST_PROXY: "1" })).problems).toEqual([]);
  });
});

test("what works all the same is a warning, exit 0: a service that is down, no mail, rights to the schema, a lost standby", async () => {
  const url = `http://127.0.0.1:${await unusedPort()}`;
  const { code, warnings, problems } = await doctor({
    PUBLIC_URL: url,
    SMTP_URL: "",
    DATABASE_URL: service.ownerUrl,
    DATABASE_REPLICA_URLS: `postgres://rebid@127.0.0.1:1/rebid,${service.databaseUrl}`,
  });
  expect([problems, code]).toEqual([[], 0]);
  for (const part of [
    `${url} does not respond`,
    "no mails are sent",
    "may change the schema",
    "standby 1 of DATABASE_REPLICA_URLS does not respond",
    "standby 2 of DATABASE_REPLICA_URLS is no standby",
    "no destination sends these events of your account",
  ]) {
    expect(warnings).toContainEqual(expect.stringContaining(part));
  }
});

test("a careless object store: stored types change, other types are taken, downloads run in browsers, pages may not upload", async () => {
  const url = await serve((request, response) => {
    if (request.method === "GET") response.setHeader("Content-Type", "text/html");
    request.resume().on("end", () => response.end(request.url?.slice(1)));
  });
  const at = async ({ storageKey }: { storageKey: string }) => `${url}/${storageKey}`;
  const found = await examineStorage(
    {
      ...service.services.storage,
      presignUpload: at,
      presignDownload: at,
      head: async () => ({ mimeType: "application/octet-stream", bytes: 1, sha256: null }),
    },
    ["https://app.example.com"],
  );
  expect(found.flatMap(({ kind, text }) => (kind === "problem" ? [text] : []))).toEqual([
    "a presigned upload of text/plain is stored as application/octet-stream",
    "an upload of another content type than the declared one is accepted",
    "a copy of a file is missing or has another size",
    "a download is not sent as an attachment of its type: browsers may run what somebody uploaded",
    "the list of the bucket's files lacks one that was just uploaded",
    "the bucket's CORS rules do not let pages of https://app.example.com upload: the console cannot deliver files",
  ]);
  expect(found.at(-1)?.advice).toContain('"AllowedOrigins":["https://app.example.com"]');
});

test("each type of event that no enabled destination sends to this service is named", async () => {
  const url = "https://rebid.example.com/processor/events";
  const destination = (changes: Partial<EventDestination>): EventDestination => ({
    ...{ id: "ed_1", url, isEnabled: true, types: ["*"], from: ["@self", "@accounts"] },
    ...changes,
  });
  const warningsOf = (...destinations: EventDestination[]) =>
    describeDestinations(destinations, url, 300).flatMap(({ kind, text }) => (kind === "warning" ? [text] : []));

  expect(warningsOf(destination({}))).toEqual([]);
  expect(warningsOf()).toHaveLength(3);
  expect(warningsOf(destination({ url: `${url}/other` }))).toHaveLength(3);
  expect(warningsOf(destination({ isEnabled: false }))).toEqual([
    "the event destination ed_1 is disabled",
    ...warningsOf(),
  ]);
  const types = missedEventTypes.filter((type) => type !== "refund.failed");
  expect(warningsOf(destination({ types, from: ["@self"] }), destination({ from: ["@accounts"] }))).toEqual([
    "no destination sends these events of your account: refund.failed",
  ]);
  expect(warningsOf(destination({}), destination({ id: "ed_2", isEnabled: false }))).toHaveLength(1);
});

describe("--backup", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await temporaryDirectory();
  });

  test("the newest file in the folder counts, and what is too old or missing is a problem", async () => {
    expect((await doctor({}, ["--backup", folder])).problems).toEqual([expect.stringContaining("there is no backup")]);
    expect((await doctor({}, ["--backup", join(folder, "none")])).code).toBe(1);
    const agesHours = { "old.dump": 72, "new.dump": 30 };
    for (const [name, hours] of Object.entries(agesHours)) {
      const at = Date.now() / 1_000 - hours * 3_600;
      await writeFile(join(folder, name), "");
      await utimes(join(folder, name), at, at);
    }
    expect((await doctor({}, ["--backup", folder])).problems).toEqual([expect.stringContaining("30.0 hours old")]);
    expect((await doctor({}, ["--backup", folder, "--hours", "31"])).code).toBe(0);
  });

  test.each([
    [["--hours", "3"], "needs --backup"],
    [["--backup", "x", "--hours", "soon"], "must be a number"],
  ])("%j is refused with exit 2", async (words, message) => {
    const { code, stderr } = await doctor({}, words);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });
});
