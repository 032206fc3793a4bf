import { type ChildProcess, spawn } from "node:child_process";
import Stripe from "stripe";
import { afterAll, beforeAll, expect, test } from "vitest";
import { command } from "../../server/commands/webhooks.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { placeBid, postTask } from "../factories/tasks.ts";
import { operatorSettings, runHere } from "../setup/commandProcess.ts";
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

const webhooks = (...words: string[]) => runHere(command, words, operatorSettings(service));

test("an operator replays one delivery, and all that have failed since a given time", async () => {
  const { id } = (await bidder.post("/webhooks", { url: `${receiver.url}/broken`, events: ["task.created"] })).body;
  const deliveries = async (status: string) =>
    (await bidder.get(`/webhooks/${id}/deliveries?status=${status}`)).body.deliveries;
  for (let count = 0; count < 3; count++) await postTask(buyer);
  const failed = await eventually("the failures", async () => {
    const found = await deliveries("failed");
    return found.length === 3 && found;
  });
  broken = false;

  const one = await webhooks("replay", failed[0].id);
  expect(one).toEqual({ code: 0, stdout: `Delivery ${failed[0].id} will be sent again.\n`, stderr: "" });
  await eventually("the replay", async () => (await deliveries("succeeded")).length === 1);
  const since = failed[2].createdAt;
  const others = await webhooks("replay", "--since", since, "--endpoint", id);
  expect(others).toEqual({ code: 0, stdout: "2 failed deliveries will be sent again.\n", stderr: "" });
  await eventually("the replays", async () => (await deliveries("succeeded")).length === 3);
  expect((await webhooks("replay", "--since", since)).stdout).toBe(`No delivery has failed since ${since}.\n`);
});

test.each([
  [["replay", crypto.randomUUID()], /^Delivery \S+ does not exist, or .*\n$/],
  [
    ["replay", "--since", "2026-11-20T00:00:00Z", "--endpoint", crypto.randomUUID()],
    /^Endpoint \S+ does not exist\.\n$/,
  ],
])("npm run webhooks -- %j cannot be done: exit code 1 and the reason", async (words, reason) => {
  const { code, stdout, stderr } = await webhooks(...words);
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toMatch(reason);
});

test("listen prints events as they happen and forwards them, signed, to a local address", async () => {
  const commandLine = ["--events", "task.created,bid.received", "--forward-to", `${receiver.url}/local`];
  const env = { PATH: process.env.PATH, NO_COLOR: "1", ...operatorSettings(service) };
  const listen: ChildProcess = spawn(process.execPath, ["server/commands/listen.ts", ...commandLine], { env });
  let output = "";
  for (const stream of [listen.stdout, listen.stderr]) {
    stream?.on("data", (chunk) => {
      output += chunk;
    });
  }
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
