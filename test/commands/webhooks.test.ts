import { type ChildProcess, execFile, spawn } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import Stripe from "stripe";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { placeBid, postTask } from "../factories/tasks.ts";
import { useService } from "../setup/testService.ts";
import { eventually, type Receiver, startReceiver } from "../webhooks/receiver.ts";

const service = useService({ worker: true, settings: { webhookAllowInsecure: true } });
let receiver: Receiver;
let buyer: TestPerson;
let bidder: TestPerson;
let broken = true;
beforeAll(async () => {
  receiver = await startReceiver(({ path }) => (path === "/broken" && broken ? 400 : 200));
  buyer = await createPerson(service, { cents: 1_000_000 });
  bidder = await createPerson(service);
});
afterAll(() => receiver.stop());

const script = (name: string) => join(import.meta.dirname, `../../server/commands/${name}.ts`);

/** The environment in which an operator runs a command against this service. */
const environment = () => ({
  ...process.env,
  NO_COLOR: "1",
  PUBLIC_URL: service.url,
  DATABASE_URL: service.databaseUrl,
  SESSION_SECRET: service.services.settings.sessionSecret,
  STRIPE_SECRET_KEY: "sk_test_tests",
  STRIPE_WEBHOOK_SECRET: "whsec_tests",
  ...{ S3_ENDPOINT: "http://127.0.0.1:1", S3_BUCKET: "rebid", S3_ACCESS_KEY_ID: "test", S3_SECRET_ACCESS_KEY: "test" },
});

/** Runs `npm run webhooks -- …` and gives what it printed and its exit code. */
async function webhooks(...commandLine: string[]) {
  return promisify(execFile)(process.execPath, [script("webhooks"), ...commandLine], { env: environment() }).then(
    ({ stdout }) => ({ code: 0, output: stdout }),
    (error: { code: number; stderr: string }) => ({ code: error.code, output: error.stderr }),
  );
}

test("an operator replays one delivery, and all that failed since a time", async () => {
  const { id } = (await bidder.post("/webhooks", { url: `${receiver.url}/broken`, events: ["task.created"] })).body;
  const deliveries = async (status: string) =>
    (await bidder.get(`/webhooks/${id}/deliveries?status=${status}`)).body.deliveries;
  for (let count = 0; count < 3; count++) await postTask(buyer);
  const failed = await eventually("the failures", async () => {
    const found = await deliveries("failed");
    return found.length === 3 && found;
  });
  broken = false;

  expect(await webhooks("replay", failed[0].id)).toEqual({
    code: 0,
    output: `Delivery ${failed[0].id} is sent again.\n`,
  });
  await eventually("the replay", async () => (await deliveries("succeeded")).length === 1);
  const since = failed[2].createdAt;
  expect(await webhooks("replay", "--since", since, "--endpoint", id)).toEqual({
    code: 0,
    output: "2 failed deliveries are sent again.\n",
  });
  await eventually("the replays", async () => (await deliveries("succeeded")).length === 3);
  expect(await webhooks("replay", "--since", since)).toMatchObject({ output: "Nothing has failed since then.\n" });
});

test.each([
  [[], "npm run webhooks -- replay DELIVERY_ID"],
  [["replay"], "npm run webhooks -- replay DELIVERY_ID"],
  [["replay", "one"], "one is no id"],
  [["replay", "--since", "yesterday"], "--since yesterday: The input must be an ISO 8601 timestamp"],
  [["replay", "--until", "now"], "Unknown option '--until'"],
  [["replay", crypto.randomUUID()], "There is no delivery"],
  [["replay", crypto.randomUUID(), "--endpoint", crypto.randomUUID()], "npm run webhooks -- replay DELIVERY_ID"],
  [["replay", "--since", "2026-11-20T00:00:00Z", "--endpoint", crypto.randomUUID()], "There is no endpoint"],
])("a command line that cannot be done (%j) says so in plain words", async (commandLine, message) => {
  const { code, output } = await webhooks(...commandLine);
  expect(code).toBe(1);
  expect(output).toContain(message);
  expect(output).not.toContain("    at ");
});

test.each(["webhooks", "listen"])("npm run %s -- --help shows how it is used", async (name) => {
  const { stdout } = await promisify(execFile)(process.execPath, [script(name), "--help"], { env: environment() });
  expect(stdout).toContain(`npm run ${name} -- `);
});

test.each(["ftp://localhost/hook", "", "http://"])("listen forwards to no such address: %j", async (address) => {
  const listen = promisify(execFile)(process.execPath, [script("listen"), "--forward-to", address], {
    env: environment(),
  });
  await expect(listen).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining("is no address") });
});

test("listen prints events as they happen and forwards them, signed, to a local address", async () => {
  const commandLine = ["--events", "task.created,bid.received", "--forward-to", `${receiver.url}/local`];
  const listen: ChildProcess = spawn(process.execPath, [script("listen"), ...commandLine], { env: environment() });
  let output = "";
  listen.stdout?.on("data", (chunk) => {
    output += chunk;
  });
  listen.stderr?.on("data", (chunk) => {
    output += chunk;
  });
  await postTask(buyer, { title: "Before it listened" });
  const secret = await eventually("the secret", () => /whsec_[0-9a-f]{64}/.exec(output)?.[0]);

  const task = await postTask(buyer, { title: "While it listens", description: "\u009b2J\u009d0;mine\u009c\u007f" });
  const bid = await placeBid(bidder, task.id);
  await buyer.post(`/tasks/${task.id}/award`, { bidId: bid.id });
  const [created, received] = await eventually("both events", () => {
    const requests = receiver.at("/local");
    return requests.length === 2 && output.split(" 200 ").length === 3 && requests;
  });

  expect(output).toContain('"title": "While it listens"');
  expect(output).toContain(String.raw`"description": "\u009b2J\u009d0;mine\u009c\u007f"`);
  expect(output).toContain("bid.received");
  expect(output).not.toContain("Before it listened");
  expect(output).not.toContain('"status": "awarded"');
  for (const request of [created, received]) {
    const signature = String(request?.headers["x-service-signature"]);
    expect(Stripe.webhooks.constructEvent(request?.body ?? "", signature, secret).id).toBe(request?.event.id);
  }
  expect([created?.event.type, received?.event.type].sort()).toEqual(["bid.received", "task.created"]);
  const ended = new Promise((resolve) => listen.once("exit", resolve));
  listen.kill("SIGINT");
  expect(await ended).toBe(0);
});
