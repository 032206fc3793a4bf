import { describe, expect, test } from "vitest";
import { approve, createAgent } from "../approvals/agents.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { placeBid, postTask, taskInput } from "../factories/tasks.ts";
import { expectBooksToBalance } from "../setup/books.ts";
import { useService } from "../setup/testService.ts";
import { type Agent, connect, protocols, type ToolAnswer } from "./client.ts";

const service = useService();

/** Somebody with money, and the model that works for them with a key that asks above $10. */
async function ownerAndModel(options?: Parameters<typeof connect>[2]) {
  const owner = await createPerson(service, { cents: 50_000 });
  const { credentials } = await createAgent(service, owner, 1_000);
  return { owner, credentials, agent: await connect(service.url, credentials, options) };
}

const tasksOf = async (owner: TestPerson) => (await owner.get("/me/tasks")).body.tasks;

/** The approval that a refused call asks for. */
function idIn(error: ToolAnswer["error"]): string {
  const { approval } = error ?? {};
  if (!approval || !("url" in approval)) throw new Error(`this asks nobody: ${JSON.stringify(error)}`);
  return approval.id ?? "";
}

/** Asks for a task, and returns the token and what the model was told. */
async function ask(agent: Agent, input: Record<string, unknown>) {
  const { preview } = (await agent.call("post_task", input)).data;
  const { error, text } = await agent.call("post_task", { ...input, confirm: preview.confirm });
  expect(error).toMatchObject({ error: "approval_required", status: 403 });
  return { confirm: preview.confirm, id: idIn(error), text };
}

test.each(protocols)(
  "over protocol %s the preview says that a person decides, the confirmed call asks, and the token gets the answer",
  async (protocol) => {
    const { owner, agent } = await ownerAndModel({ protocol });
    const input = taskInput({ maxBudgetCents: 1_001 });
    const { nextCursor: after } = (await agent.call("wait_for_events", { after: "latest", wait: 0 })).data;
    const { data, text } = await agent.call("post_task", input);
    expect(data.preview.needsApproval).toBe(true);
    expect(text).toContain("A person must approve it");
    expect((await owner.get("/approvals")).body.approvals).toEqual([]);
    const { confirm } = data.preview;
    const refused = await agent.call("post_task", { ...input, confirm });
    expect(refused.error).toMatchObject({ error: "approval_required", approval: { url: expect.any(String) } });
    const [{ id }] = (await owner.get("/approvals?status=pending")).body.approvals;
    // Whoever reads only words finds the page, and what to do next.
    expect(refused.text).toContain(`${service.url}/app/approvals/${id}`);
    expect(refused.text).toContain("wait_for_events");
    expect((await agent.call("post_task", { ...input, confirm })).error?.error).toBe("approval_required");

    const types = ["approval.decided"];
    const waiting = agent.call("wait_for_events", { after, types, wait: 20 });
    await approve(owner, id);
    const heard = await waiting;
    expect(heard.data.events).toMatchObject([{ type: "approval.decided", approvalId: id, approvalStatus: "approved" }]);
    expect(heard.text).toContain(`approval ${id} approved`);
    const done = await agent.call("post_task", { ...input, confirm });
    const again = await agent.call("post_task", { ...input, confirm });
    const [task] = await tasksOf(owner);
    expect([done.data.task.id, again.data.task.id]).toEqual([task.id, task.id]);
    expect(await tasksOf(owner)).toHaveLength(1);
    await expectBooksToBalance(service);
  },
);

test("at its amount the preview says nothing of a person, and the confirmed call acts", async () => {
  const { owner, agent } = await ownerAndModel();
  const input = taskInput({ maxBudgetCents: 1_000 });
  const { preview } = (await agent.call("post_task", input)).data;
  expect(preview).not.toHaveProperty("needsApproval");
  expect((await agent.call("post_task", { ...input, confirm: preview.confirm })).isError).toBe(false);
  expect(await tasksOf(owner)).toHaveLength(1);
});

test("after a no the model reads the reason, and a new preview of the same is refused", async () => {
  const { owner, agent } = await ownerAndModel();
  const input = taskInput({ maxBudgetCents: 2_000 });
  const { confirm, id } = await ask(agent, input);
  await owner.post(`/approvals/${id}/decline`, { reason: "At most ten dollars." });
  const refused = await agent.call("post_task", { ...input, confirm });
  expect(refused.error).toMatchObject({ error: "approval_declined", approval: { reason: "At most ten dollars." } });
  const anew = await agent.call("post_task", input);
  const token = anew.data?.preview?.confirm;
  const second = token === undefined ? anew : await agent.call("post_task", { ...input, confirm: token });
  expect(second.error).toMatchObject({ error: "approval_declined" });
  expect(await tasksOf(owner)).toEqual([]);
});

describe("a client that can open pages", () => {
  test("sends its person to the approval, and goes on with the answer", async () => {
    const pages: string[] = [];
    const owner = await createPerson(service, { cents: 50_000 });
    const { credentials } = await createAgent(service, owner, 1_000);
    const opens = async (url: string) => {
      pages.push(url);
      await approve(owner, url.split("/").at(-1) ?? "");
    };
    const agent = await connect(service.url, credentials, { opens });
    const input = taskInput({ maxBudgetCents: 3_000 });
    const { preview } = (await agent.call("post_task", input)).data;
    expect(pages).toEqual([]);
    const { data } = await agent.call("post_task", { ...input, confirm: preview.confirm });
    const [task] = await tasksOf(owner);
    expect(data.task.id).toBe(task.id);
    expect(pages).toEqual([expect.stringMatching(`^${service.url}/app/approvals/`)]);
    expect((await agent.call("post_task", { ...input, confirm: preview.confirm })).data.task.id).toBe(task.id);
  });

  test("gets the page in words if its person leaves without an answer", async () => {
    const { owner, agent } = await ownerAndModel({ opens: async () => undefined });
    const input = taskInput({ maxBudgetCents: 3_000 });
    const { preview } = (await agent.call("post_task", input)).data;
    const left = await agent.call("post_task", { ...input, confirm: preview.confirm });
    expect(left.error).toMatchObject({ error: "approval_required", approval: { url: expect.any(String) } });
    expect(await tasksOf(owner)).toEqual([]);
  });

  test("asks its person twice, once whether it should ask, and once for the answer", async () => {
    const owner = await createPerson(service, { cents: 50_000 });
    const { credentials } = await createAgent(service, owner, 1_000);
    const said: string[] = [];
    const agent = await connect(service.url, credentials, {
      confirms: (message) => said.push(message) > 0,
      opens: (url) => approve(owner, url.split("/").at(-1) ?? ""),
    });
    const { data } = await agent.call("post_task", taskInput({ maxBudgetCents: 3_000 }));
    expect(said).toEqual([expect.stringContaining("A person must approve it")]);
    expect(data.task.id).toBe((await tasksOf(owner))[0].id);
  });
});

describe("a late token", () => {
  const minutes = (count: number) => service.clock.advance(count * 60);

  test("that became an approval gets the answer, until 24 hours after the decision", async () => {
    const { owner, agent } = await ownerAndModel();
    const input = taskInput({ maxBudgetCents: 2_000 });
    const { confirm, id } = await ask(agent, input);
    minutes(60 * 24);
    expect((await agent.call("post_task", { ...input, confirm })).error?.error).toBe("approval_required");
    await approve(owner, id);
    minutes(60 * 23);
    expect((await agent.call("post_task", { ...input, confirm })).data.task.id).toBe((await tasksOf(owner))[0].id);
    minutes(61);
    const over = await agent.call("post_task", { ...input, confirm });
    expect(over.error?.issues?.[0]?.message).toMatch(/five minutes are over/);
    expect(await tasksOf(owner)).toHaveLength(1);
  });

  test("that asked nobody is refused", async () => {
    const { owner, agent } = await ownerAndModel();
    const input = taskInput({ maxBudgetCents: 2_000 });
    const { preview } = (await agent.call("post_task", input)).data;
    minutes(6);
    const late = await agent.call("post_task", { ...input, confirm: preview.confirm });
    expect(late.error?.issues?.[0]?.message).toMatch(/five minutes are over/);
    expect((await owner.get("/approvals")).body.approvals).toEqual([]);
  });

  test("of an award does not act on a price that its owner has not seen", async () => {
    const { owner, agent } = await ownerAndModel();
    const bidder = await createPerson(service);
    const task = await postTask(owner);
    const bid = await placeBid(bidder, task.id, { priceCents: 5_000 });
    const args = { taskId: task.id, bidId: bid.id };
    const { confirm } = (await agent.call("award_task", args)).data.preview;
    const { error } = await agent.call("award_task", { ...args, confirm });
    const id = idIn(error);
    const { version: seen } = (await owner.get(`/approvals/${id}`)).body.approval;
    await bidder.patch(`/bids/${bid.id}`, { priceCents: 6_000 });
    minutes(10);
    expect((await owner.post(`/approvals/${id}/approve`, { seen })).body.error).toBe("approval_changed");
    expect((await agent.call("award_task", { ...args, confirm })).isError).toBe(true);
    expect((await owner.get(`/tasks/${task.id}`)).body.task.status).toBe("open");
  });
});

test("a token of one key is of no use to another of the same person, before and after the answer", async () => {
  const { owner, agent } = await ownerAndModel();
  const other = await connect(service.url, owner.key);
  const input = taskInput({ maxBudgetCents: 2_000 });
  const { confirm, id } = await ask(agent, input);
  expect((await other.call("post_task", { ...input, confirm })).error?.error).toBe("invalid_input");
  await approve(owner, id);
  expect((await other.call("post_task", { ...input, confirm })).error?.error).toBe("invalid_input");
  expect(await tasksOf(owner)).toHaveLength(1);
});
