import { beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { answerOf, argumentsOf } from "../../server/mcp/runTool.ts";
import { toolsFor } from "../../server/mcp/tools/nextTools.ts";
import { tools } from "../../server/mcp/tools/table.ts";
import { untrustedFields } from "../../server/mcp/untrusted.ts";
import { definitionOf } from "../../server/meta.ts";
import { appRouter } from "../../server/procedures/router.ts";
import { type Scope, scopes } from "../../server/schemas/scope.ts";
import { taskOperations } from "../../server/schemas/taskOperation.ts";
import { createKey, createPerson, type TestPerson } from "../factories/people.ts";
import { awardedTask } from "../factories/tasks.ts";
import { rest } from "../setup/client.ts";
import { expectError } from "../setup/expectError.ts";
import { useService } from "../setup/testService.ts";
import { connect, protocols } from "./client.ts";

const service = useService();
let person: TestPerson;

beforeAll(async () => {
  person = await createPerson(service);
});

const procedures: Record<string, unknown> = appRouter._def.procedures;
const accessOf = (name: string) => definitionOf(procedures[name]).meta?.access;

/** What a key needs for each tool. Written down, so that a change of scopes is a decision. */
const scopesByTool: Record<string, Scope | null> = {
  search_tasks: null,
  get_task: null,
  place_bid: "bid:write",
  withdraw_bid: "bid:write",
  post_task: "task:write",
  change_task: "task:write",
  cancel_task: "task:write",
  compare_bids: null,
  award_task: "task:write",
  preflight_delivery: "bid:write",
  deliver: "bid:write",
  add_sample: "bid:write",
  read_delivery: null,
  propose_agreement: "agreement:write",
  answer_agreement: "agreement:write",
  give_back: "bid:write",
  request_changes: "task:write",
  decline_changes: "bid:write",
  accept_delivery: "task:write",
  dispute_delivery: "task:write",
  rate: "task:write",
  get_wallet: null,
  request_payout: "payouts:write",
  ask_question: "message:write",
  answer_question: "message:write",
  send_message: "message:write",
  read_messages: null,
  wait_for_events: null,
  get_reputation: null,
};

test("there are at most 30 tools, whose procedures exist, are open to keys, and need at most the one scope", () => {
  expect(tools.length).toBeLessThanOrEqual(30);
  expect(Object.keys(scopesByTool)).toEqual(tools.map(({ name }) => name));
  for (const { name, procedures: called, kind } of tools) {
    for (const each of called) expect(accessOf(each), each).not.toBeOneOf([undefined, "session", "moderator"]);
    const needed = called.map(accessOf).flatMap((access) => (typeof access === "object" ? [access.scope] : []));
    expect([...new Set(needed)], name).toEqual([scopesByTool[name]].filter((scope) => scope !== null));
    const changes = called.filter((each) => definitionOf(procedures[each]).type === "mutation");
    expect(changes.length > 0, `${name} changes something`).toBe(kind !== "read");
  }
});

test.each(protocols)(
  "over protocol %s, a key sees the tools that its scopes allow, and no others",
  async (protocol) => {
    const combinations: Scope[][] = [[], ...scopes.map((scope) => [scope]), [...scopes]];
    for (const granted of combinations) {
      const { client } = await connect(service.url, await createKey(service.url, person.session, granted), {
        protocol,
      });
      const listed = (await client.listTools()).tools.map(({ name }) => name);
      const expected = tools.filter(({ name }) => {
        const scope = scopesByTool[name];
        return scope == null || granted.includes(scope);
      });
      expect(listed).toEqual(expected.map(({ name }) => name));
    }
  },
);

test.each(protocols)(
  "over protocol %s, each tool says what it does and takes, with schemas that need no references",
  async (protocol) => {
    const { client } = await connect(service.url, person.key, { protocol });
    expect(client.getNegotiatedProtocolVersion()?.startsWith(protocol)).toBe(true);
    const listed = (await client.listTools()).tools;
    for (const { name, title, description = "", inputSchema, outputSchema, annotations } of listed) {
      const tool = tools.find((each) => each.name === name);
      expect(name).toMatch(/^[a-z]+(_[a-z]+)*$/);
      expect(title).toBeTruthy();
      expect(description.length, name).toBeGreaterThan(60);
      expect(description.length, name).toBeLessThan(500);
      expect(annotations, name).toMatchObject({
        readOnlyHint: tool?.kind === "read",
        destructiveHint: tool?.isDestructive ?? false,
        idempotentHint: true,
      });
      expect(inputSchema).toMatchObject({ type: "object", additionalProperties: false });
      expect(outputSchema).toMatchObject({ type: "object" });
      expect(JSON.stringify([inputSchema, outputSchema])).not.toMatch(/"\$(ref|defs|schema)"/);
      expect("confirm" in (inputSchema.properties ?? {}), name).toBe(tool?.kind === "money");
    }
    // A model reads all of it before its first call. The first limit is for the 19 tools of today, the second for 30,
    // of which each preview says in 20 characters whether a person must approve it. 400 are for checks: to agree on them, and
    // to try them.
    const tokens = JSON.stringify(listed).length / 4;
    console.log(`tools/list of ${listed.length} tools, protocol ${protocol}: ${tokens} tokens`);
    expect(tokens).toBeLessThan(listed.length <= 19 ? 6_000 : 9_500);
  },
);

/** Texts of ours, of fixed forms, or of the processor's. */
const trustedFields = new Set([
  ...[
    "nextCursor",
    "confirm",
    "uploadUrl",

    "storageKey",
    "sha256",
    "nextTools",
    "createdAt",
    "resolvedAt",
  ],
  ...["externalRef", "failureMessage", "payoutStatus", "approvalStatus", "description"],
]);

test("every text in an answer is either known to be safe or marked as untrusted", () => {
  const unknown = new Set<string>();
  const visit = (schema: unknown, name: string) => {
    if (typeof schema !== "object" || schema === null) return;
    const {
      type,
      properties,
      items,
      anyOf,
      oneOf,
      $defs: definitions,
      format,
      const: constant,
      enum: values,
    } = schema as Record<string, never>;
    if (type === "string" && format === undefined && constant === undefined && values === undefined) unknown.add(name);
    for (const fields of [properties, definitions]) {
      for (const [inner, value] of Object.entries(fields ?? {})) visit(value, inner);
    }
    if (items) visit(items, name);
    for (const each of [...(anyOf ?? []), ...(oneOf ?? [])]) visit(each, name);
  };
  for (const tool of tools) visit(z.toJSONSchema(answerOf(tool), { reused: "inline" }), tool.name);
  const found = [...unknown].filter((name) => !untrustedFields.has(name) && !trustedFields.has(name));
  expect(found).toEqual([]);
});

test("what a task allows is named by tools that exist", () => {
  const names = new Set(tools.map(({ name }) => name));
  const named = toolsFor(taskOperations, { bidCount: 1, checks: [1], samples: [1], deliveries: [1] });
  expect(named.length).toBeGreaterThan(8);
  expect(named.filter((name) => !names.has(name))).toEqual([]);
});

test.each(protocols)("over protocol %s, nobody is told to do what the key's scopes refuse", async (protocol) => {
  const wordsFor = async (scopesOfKey: Scope[]) => {
    const { client } = await connect(service.url, await createKey(service.url, person.session, scopesOfKey), {
      protocol,
    });
    const prompt = await client.getPrompt({ name: "find_and_do_a_task", arguments: { skills: "Finnish" } });
    const [content] = prompt.messages.map((message) => message.content);
    return { prompt: content?.type === "text" ? content.text : "", instructions: client.getInstructions() ?? "" };
  };
  const bidder = await wordsFor(["bid:write"]);
  expect(bidder.prompt).not.toMatch(/\brate the buyer\b|answer a dispute/);
  expect(bidder.instructions).toMatch(/This key may: read; bid, .* \(bid:write\)\. It may not: .*rate.*\(task:write\)/);
  const both = await wordsFor(["bid:write", "task:write"]);
  expect(both.prompt).toMatch(/rate the buyer/);
  expect(both.prompt).not.toMatch(/answer a dispute/);
});

test("a tool's idempotencyKey is the same as the API's header: one answer, and one conflict", async () => {
  const buyer = await createPerson(service, { cents: 10_000 });
  const bidder = await createPerson(service);
  const { task } = (await buyer.post("/tasks", { title: "A", description: "B", maxBudgetCents: 100, tags: [] })).body;
  const { call } = await connect(service.url, bidder.key);
  const bid = { priceCents: 50, etaHours: 1 };
  const placed = await call("place_bid", { taskId: task.id, ...bid, idempotencyKey: "one" });
  const headers = { ...bidder.key, "idempotency-key": "one" };
  const path = `/tasks/${task.id}/bids`;
  const repeat = await rest(service.url, "POST", path, { body: bid, headers });
  expect([repeat.status, repeat.headers.get("idempotent-replayed")]).toEqual([201, "true"]);
  expect(repeat.body.bid.id).toBe(placed.data.bid.id);
  expectError(
    await rest(service.url, "POST", path, { body: { ...bid, etaHours: 2 }, headers }),
    "idempotency_conflict",
  );
  const other = await call("withdraw_bid", { bidId: placed.data.bid.id, idempotencyKey: "one" });
  expect(other.error).toMatchObject({ error: "idempotency_conflict", status: 409 });

  // A bid that is changed is another operation than the one that was refused, and its repeat gets the same answer.
  const change = { taskId: task.id, priceCents: 40, etaHours: 1, idempotencyKey: "two" };
  const changed = await call("place_bid", change);
  expect(changed.data).toMatchObject({ isChanged: true });
  expect((await call("place_bid", change)).data).toEqual(changed.data);
});

test("a sample is added like a delivery, and tasks of mine are found by their tag", async () => {
  const buyer = await createPerson(service, { cents: 10_000 });
  const bidder = await createPerson(service);
  const { task } = await awardedTask(buyer, bidder);
  const [tag = ""] = task.tags;
  const agent = await connect(service.url, bidder.key);
  const { data } = await agent.call("get_task", { taskId: task.id });
  expect(data.nextTools).toContain("add_sample");
  const bidId = data.ownBid.id;
  const added = await agent.call("add_sample", { bidId, text: "Hei!", mimeType: "text/plain" });
  expect(added.data.sample).toMatchObject({ bidId, bytes: 4 });
  const target = await agent.call("add_sample", { bidId, bytes: 4, mimeType: "text/plain" });
  await fetch(target.data.uploadUrl, { method: "PUT", body: "Moi!", headers: { "content-type": "text/plain" } });
  const second = await agent.call("add_sample", { bidId, storageKey: target.data.storageKey });
  expect((await agent.call("read_delivery", { taskId: task.id, fileId: second.data.sample.id })).text).toContain(
    "Moi!",
  );

  const buying = await connect(service.url, buyer.key);
  const found = async (whose: string, wanted: string, by = buying) =>
    (await by.call("search_tasks", { whose, tag: wanted })).data.tasks.map(({ id }: { id: string }) => id);
  expect(await found("posted", tag.toLowerCase())).toEqual([task.id]);
  expect(await found("posted", `${tag}s`)).toEqual([]);
  expect(await found("awarded", tag.toUpperCase(), agent)).toEqual([task.id]);
});

test("arguments have the names of the API, and every tool's own fields are strict", () => {
  for (const tool of tools) {
    const { success } = argumentsOf(tool).safeParse({ taskId: crypto.randomUUID(), unheardOf: 1 });
    expect(success, tool.name).toBe(false);
  }
});

test.each(protocols)("over protocol %s, resources and prompts lead to records, guides and work", async (protocol) => {
  const { client } = await connect(service.url, person.key, { protocol });
  const { resources } = await client.listResources();
  expect(resources.map(({ uri }) => uri)).toEqual(
    expect.arrayContaining(["rebid://wallet", "rebid://guides/contract"]),
  );
  const { resourceTemplates } = await client.listResourceTemplates();
  expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
    "rebid://tasks/{id}",
    "rebid://bids/{id}",
    "rebid://guides/{name}",
  ]);
  const buyer = await createPerson(service, { cents: 10_000 });
  const { body } = await buyer.post("/tasks", { title: "A", description: "B", maxBudgetCents: 100, tags: [] });
  const read = async (uri: string) => {
    const [content] = (await client.readResource({ uri })).contents;
    return content !== undefined && "text" in content ? content.text : "";
  };
  expect(JSON.parse(await read(`rebid://tasks/${body.task.id}`)).task).toMatchObject({
    id: body.task.id,
    untrusted: { title: "A", description: "B" },
  });
  expect(JSON.parse(await read("rebid://wallet"))).toMatchObject({ availableCents: 0, heldCents: 0 });
  expect(await read("rebid://guides/contract")).toContain("# The contract");
  for (const uri of [
    `rebid://tasks/${person.id}`,
    "rebid://tasks/x",
    `rebid://bids/${person.id}`,
    "rebid://guides/..%2fREADME",
    "rebid://x",
  ]) {
    await expect(client.readResource({ uri })).rejects.toThrow(/not found/i);
  }
  expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual([
    "find_and_do_a_task",
    "get_a_task_done",
  ]);
  const prompt = await client.getPrompt({ name: "find_and_do_a_task", arguments: { skills: "Finnish" } });
  expect(prompt.messages[0]?.content).toMatchObject({
    type: "text",
    text: expect.stringContaining("Skills: Finnish."),
  });
  await expect(client.getPrompt({ name: "get_a_task_done", arguments: {} })).rejects.toThrow(/what is required/);
});
