import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Stripe from "stripe";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { postTask } from "../factories/tasks.ts";
import { operatorSettings } from "../setup/commandProcess.ts";
import { compileCache } from "../setup/compileCache.ts";
import { useService } from "../setup/testService.ts";
import { eventually, type Receiver, startReceiver } from "../webhooks/receiver.ts";

const service = useService();
let buyer: TestPerson;
let receiver: Receiver;
let directory: string;
const running = new Set<ChildProcess>();
beforeAll(async () => {
  buyer = await createPerson(service, { cents: 1_000_000 });
  receiver = await startReceiver(() => 200);
  directory = await mkdtemp(join(tmpdir(), "rebid-listen-"));
});
afterAll(async () => {
  for (const child of running) child.kill("SIGKILL");
  await receiver.stop();
  await rm(directory, { recursive: true, force: true });
});

/** Starts the command. `stop` ends it with a signal and returns its exit code. */
async function listen(...words: string[]) {
  const settings = { ...operatorSettings(service), DATA_DIR: directory };
  const child = spawn(process.execPath, ["server/commands/listen.ts", ...words], {
    env: { PATH: process.env.PATH, NO_COLOR: "1", ...compileCache, ...settings },
    stdio: ["ignore", "pipe", "inherit"],
  });
  running.add(child);
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (piece: string) => {
    text += piece;
  });
  const shows = (what: string) => eventually(`"${what}"`, async () => (text.includes(what) ? text : null));
  await shows("Press Ctrl-C to stop.");
  return {
    shows,
    text: () => text,
    async stop(signal: NodeJS.Signals = "SIGTERM") {
      child.kill(signal);
      const [code] = await once(child, "close");
      running.delete(child);
      return code as number | null; // null after SIGKILL
    },
  };
}

test("what happened while it was stopped or killed is shown at the next start, and nothing twice", async () => {
  const first = await listen();
  const one = await postTask(buyer);
  await first.shows(one.id);
  // The bookmark is written after the event is printed.
  await first.shows("task.created");
  expect(await first.stop()).toBe(0);

  const two = await postTask(buyer);
  const second = await listen();
  await second.shows(two.id);
  expect(second.text()).not.toContain(one.id);
  await second.stop("SIGKILL");

  const three = await postTask(buyer);
  const third = await listen("--events", "task.created");
  await third.shows(three.id);
  expect(third.text()).not.toContain(one.id);
  await third.stop();

  const four = await postTask(buyer);
  const fourth = await listen("--from-now");
  const five = await postTask(buyer);
  expect(await fourth.shows(five.id)).not.toContain(four.id);
  await fourth.stop();
});

test("forwards events with a signature that the printed secret verifies", async () => {
  const listener = await listen("--from-now", "--forward-to", `${receiver.url}/hook`);
  const task = await postTask(buyer);
  const request = await eventually("a request", async () => receiver.at("/hook")[0] ?? null);
  expect(request.event.data.task?.id).toBe(task.id);
  const secret = /whsec_\w+/.exec(listener.text())?.[0] ?? "";
  const signature = String(request.headers["x-service-signature"]);
  const verified = new Stripe("sk_test_none").webhooks.constructEvent(request.body, signature, secret);
  expect(verified.id).toBe(request.event.id);
  await listener.stop();
});
