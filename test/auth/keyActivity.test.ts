import { expect, test } from "vitest";
import { approve, askedIn, createAgent, ownerAndAgent } from "../approvals/agents.ts";
import { createPerson } from "../factories/people.ts";
import { placeBid, taskInput } from "../factories/tasks.ts";
import { expectError } from "../setup/expectError.ts";
import { useService } from "../setup/testService.ts";

const service = useService();

test("an owner reads what a key did, newest first, one line an act, and not what they or other keys did", async () => {
  const { owner, agent } = await ownerAndAgent(service, null);
  const other = await createAgent(service, owner, null);
  const [first, second] = [await createPerson(service), await createPerson(service)];
  const task = (await agent.post("/tasks", taskInput({ title: "Mine" }))).body.task;
  await other.post("/tasks", taskInput({ title: "Of the other key" }));
  await owner.post("/tasks", taskInput({ title: "Of the person" }));
  const bid = await placeBid(first, task.id);
  await placeBid(second, task.id);
  const awarded = await agent.post(`/tasks/${task.id}/award`, { bidId: bid.id });
  expect(awarded.status).toBe(200);

  const { status, body } = await owner.get(`/keys/${agent.keyId}/activity`);
  expect(status).toBe(200);
  const act = { id: expect.any(String), createdAt: expect.any(String), approved: false };
  expect(body.activity).toEqual([
    { ...act, types: ["task.awarded"], task: { id: task.id, title: "Mine" } },
    { ...act, types: ["task.created"], task: { id: task.id, title: "Mine" } },
  ]);
  expect((await owner.get(`/keys/${other.keyId}/activity`)).body.activity).toHaveLength(1);
});

test("what a key asked and its owner approved is the key's, and says so; the list outlives the key, and ends after 30 days", async () => {
  const { owner, agent } = await ownerAndAgent(service, 0);
  const { id } = askedIn(await agent.post("/tasks", taskInput()));
  expect((await approve(owner, id)).status).toBe(200);
  const read = async () => (await owner.get(`/keys/${agent.keyId}/activity`)).body.activity;
  expect(await read()).toMatchObject([{ types: ["task.created", "approval.decided"], approved: true }]);
  await owner.delete(`/keys/${agent.keyId}`);
  expect(await read()).toHaveLength(1);
  // A session that is used goes on.
  for (let week = 0; week < 4; week++) {
    service.clock.advance(7 * 86_400);
    expect(await read()).toHaveLength(1);
  }
  service.clock.advance(3 * 86_400);
  expect(await read()).toEqual([]);
});

test("nobody else reads it: not the key, not another person", async () => {
  const { agent } = await ownerAndAgent(service, null);
  expectError(await agent.get(`/keys/${agent.keyId}/activity`), "forbidden");
  const stranger = await createPerson(service);
  expectError(await stranger.get(`/keys/${agent.keyId}/activity`), "not_found");
  expectError(await stranger.get(`/keys/${crypto.randomUUID()}/activity`), "not_found");
});
