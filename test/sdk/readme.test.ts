import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Rebid, webhooks } from "@rebid/sdk";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { exampleEvent } from "../../server/webhooks/sample.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { awardedTask, deliveredTask, placeBid, postTask } from "../factories/tasks.ts";
import { useService } from "../setup/testService.ts";
import { agentOf, failureOf } from "./clients.ts";

const service = useService();
let directory: string;
let ada: TestPerson;
let bo: TestPerson;

beforeAll(async () => {
  [ada, bo] = await Promise.all([createPerson(service, { cents: 1_000_000 }), createPerson(service)]);
  // Inside the repository, where the package is found.
  await mkdir(".test-data", { recursive: true });
  directory = await mkdtemp(join(process.cwd(), ".test-data/sdk-readme-"));
});

afterAll(() => rm(directory, { recursive: true, force: true }));

/** Writes an example of the README as a module, as it stands, and loads it. */
async function example(name: string): Promise<Record<string, (...parameters: unknown[]) => Promise<unknown>>> {
  const readme = await readFile("client-sdk/README.md", "utf8");
  const code = new RegExp(`<!-- example: ${name} -->\n\`\`\`ts\n([\\s\\S]*?)\n\`\`\``).exec(readme)?.[1];
  if (code === undefined) throw new Error(`client-sdk/README.md has no example ${name}`);
  const file = join(directory, `${name}.ts`);
  await writeFile(file, code.replace("http://localhost:3000", service.url));
  return import(file);
}

/** What is printed while `work` runs. */
async function printed(work: () => Promise<unknown>): Promise<string[]> {
  const log = vi.spyOn(console, "log").mockImplementation(() => {});
  try {
    await work();
    return log.mock.calls.map((line) => line.join(" "));
  } finally {
    log.mockRestore();
  }
}

test("the first call is at most ten lines, and prints the open tasks with their budgets", async () => {
  const { title } = await postTask(ada, { tags: ["translation"] });
  vi.stubEnv("REBID_API_KEY", bo.key.authorization?.replace("Bearer ", ""));
  const lines = await printed(() => example("first-call"));
  vi.unstubAllEnvs();
  expect(lines).toContain(`${title} 10000`);
  const source = await readFile(join(directory, "first-call.ts"), "utf8");
  expect(source.split("\n").length).toBeLessThanOrEqual(10);
});

test("errors: a bid that exists already is found by its id", async () => {
  const { bid } = await example("errors");
  const task = await postTask(ada);
  const id = await bid?.(agentOf(service, bo), task.id);
  expect(id).toEqual(expect.any(String));
  expect(await bid?.(agentOf(service, bo), task.id)).toBe(id);
});

test("options: the same order is posted once", async () => {
  const { post } = await example("options");
  const key = ada.key.authorization?.replace("Bearer ", "");
  const [first, second] = [await post?.(service.url, key, "1"), await post?.(service.url, key, "1")];
  expect(first).toMatchObject({ status: 201, requestId: expect.any(String), task: { title: "Translate a menu" } });
  expect(second).toMatchObject({ task: (first as { task: unknown }).task });
});

test("lists", async () => {
  const { browse } = await example("lists");
  const found = await browse?.(agentOf(service, ada));
  expect(found).toMatchObject({ newest: expect.any(Array), page: { tasks: expect.any(Array) } });
  expect((found as { entries: number[] }).entries).toContain(1_000_000);
});

test("events: bids are handled from the stored cursor on, and a delivery is accepted", async () => {
  const { handleBids, acceptWhenDelivered } = await example("events");
  const client = agentOf(service, ada);
  const store = { cursor: (await client.events.list({ after: "latest" })).nextCursor };
  const { task } = await deliveredTask(ada, bo);
  const lines = await printed(async () => handleBids?.(client, store, 2));
  expect(lines).toEqual([`8000 cents for ${task.title}`]);
  expect(
    (await client.events.list({ after: store.cursor, types: ["bid.received", "delivery.posted"] })).events,
  ).toEqual([]);
  expect(await acceptWhenDelivered?.(client, task.id)).toMatchObject({ status: "accepted" });
});

test("files: a sample from memory and a delivery from a path", async () => {
  const { deliver } = await example("files");
  const { bid } = await awardedTask(ada, bo);
  const path = join(directory, "menu.md");
  await writeFile(path, "# Lounas\n");
  const lines = await printed(async () => {
    expect(await deliver?.(agentOf(service, bo), bid.id, path)).toMatchObject({ fileName: "menu.md", bytes: 9 });
  });
  expect(lines.at(-1)).toBe("9 of 9 bytes");
});

test("talk: a question, and a message with a file, reach the buyer", async () => {
  const { talk } = await example("talk");
  const task = await postTask(ada);
  const bid = await placeBid(bo, task.id);
  expect(await talk?.(agentOf(service, bo), task.id, bid.id)).toMatchObject([
    { text: "Is this the tone?", role: "bidder", files: [{ mimeType: "text/plain", bytes: 14 }] },
  ]);
  const [question] = (await ada.get(`/tasks/${task.id}/questions`)).body.questions;
  expect(question).toMatchObject({ text: "Written or spoken Finnish?", asker: { id: bo.id } });
});

test("webhooks: a signed request is answered with 204, any other with 400", async () => {
  const { receive } = await example("webhooks");
  const body = JSON.stringify(exampleEvent("task.awarded"));
  const request = (signature: string) =>
    new Request("http://localhost/hook", { method: "POST", body, headers: { "X-Service-Signature": signature } });
  const signature = await webhooks.sign(body, "whsec_a");
  const lines = await printed(async () => {
    expect(await receive?.(request(signature), "whsec_a")).toMatchObject({ status: 204 });
  });
  expect(lines).toHaveLength(1);
  expect(await receive?.(request(signature), "whsec_b")).toMatchObject({ status: 400 });
});

test("trpc: an answer, and the message of a refusal", async () => {
  const { wallet } = await example("trpc");
  expect(await wallet?.(service.url, ada.session)).toEqual(await agentOf(service, ada).wallet.read());
  const refusal = await failureOf(new Rebid({ baseUrl: service.url }).wallet.read());
  expect(await failureOf(wallet?.(service.url) ?? Promise.resolve())).toMatchObject({
    message: String((refusal as Error).message),
  });
});
