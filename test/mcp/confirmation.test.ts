import { describe, expect, test, vi } from "vitest";
import { createKey, createPerson, type TestPerson } from "../factories/people.ts";
import { awardedTask, deliveredTask, placeBid, postTask, taskInput } from "../factories/tasks.ts";
import { expectBooksToBalance } from "../setup/books.ts";
import { useService } from "../setup/testService.ts";
import { type Agent, connect, protocols } from "./client.ts";

const service = useService();

const input = () => taskInput({ maxBudgetCents: 4_000 });

async function newAgent(options?: Parameters<typeof connect>[2]): Promise<{ person: TestPerson; agent: Agent }> {
  const person = await createPerson(service, { cents: 50_000 });
  return { person, agent: await connect(service.url, person.key, options) };
}

const walletOf = async (person: TestPerson) => (await person.get("/wallet")).body;
const tasksOf = async (person: TestPerson) => (await person.get("/me/tasks")).body.tasks;

test("a preview changes nothing and says what would happen, in cents and in words", async () => {
  const { person, agent } = await newAgent();
  const { data, text } = await agent.call("post_task", input());
  expect(text).toContain("hold 4,000 cents ($40.00) of the 50,000 cents ($500.00)");
  expect(data.preview).toMatchObject({ amounts: { heldCents: 4_000 }, expiresInSeconds: 300 });
  expect(text).toContain(`confirm: ${data.preview.confirm}`);
  expect(data.preview.confirm.length).toBeLessThan(220);
  expect(data.task).toBeUndefined();
  expect(await tasksOf(person)).toEqual([]);
  expect(await walletOf(person)).toEqual({ availableCents: 50_000, heldCents: 0 });
});

test("a preview is refused with the error that the operation would have", async () => {
  const { agent } = await newAgent();
  const { isError, error, text } = await agent.call(
    "post_task",
    input().maxBudgetCents ? { ...input(), maxBudgetCents: 60_000 } : {},
  );
  expect(isError).toBe(true);
  expect(error).toMatchObject({
    error: "insufficient_funds",
    status: 402,
    neededCents: 60_000,
    availableCents: 50_000,
  });
  expect(text).toMatch(/^insufficient_funds \(402\): .*\nNext: /);
  const payout = await agent.call("request_payout", { amountCents: 60_000 });
  expect(payout.error).toMatchObject({ error: "insufficient_funds", neededCents: 60_000, availableCents: 50_000 });
});

test.each(protocols)(
  "a token acts once over protocol %s: its repeats, also at the same time, get the same answer",
  async (protocol) => {
    const { person, agent } = await newAgent({ protocol });
    const task = input();
    const { confirm } = (await agent.call("post_task", task)).data.preview;
    const answers = await Promise.all(Array.from({ length: 5 }, () => agent.call("post_task", { ...task, confirm })));
    // The same signature, spelled differently: the last character of base64 has bits that mean nothing.
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const last = alphabet.indexOf(confirm.at(-1));
    const respelled = confirm.slice(0, -1) + alphabet[last ^ 1];
    const again = await agent.call("post_task", { ...task, confirm: respelled });
    if (!again.isError) answers.push(again);
    expect(new Set(answers.map(({ data }) => data.task.id)).size).toBe(1);
    expect(await tasksOf(person)).toHaveLength(1);
    expect(await walletOf(person)).toEqual({ availableCents: 46_000, heldCents: 4_000 });
  },
);

test("two previews of the same task are two tokens, which post two tasks", async () => {
  const { person, agent } = await newAgent();
  const task = input();
  const [first, second] = await Promise.all([agent.call("post_task", task), agent.call("post_task", task)]);
  for (const { data } of [first, second]) await agent.call("post_task", { ...task, confirm: data.preview.confirm });
  expect(await tasksOf(person)).toHaveLength(2);
});

describe("a token that is not this call's own", () => {
  const expectRefused = async (call: Promise<Awaited<ReturnType<Agent["call"]>>>, message: RegExp) => {
    const { error } = await call;
    expect(error).toMatchObject({ error: "invalid_input", status: 400, issues: [{ path: "confirm" }] });
    expect(error?.issues?.[0]?.message).toMatch(message);
  };

  test("is refused if it is forged, altered, of other arguments, another tool, another key or another user", async () => {
    const { person, agent } = await newAgent();
    const other = await newAgent();
    const secondKey = await connect(service.url, await createKey(service.url, person.session));
    const task = input();
    const { confirm } = (await agent.call("post_task", task)).data.preview;
    const [version, body = "", signature = ""] = confirm.split(".");
    const envelope = JSON.parse(Buffer.from(body, "base64url").toString());
    const seal = (changes: object) =>
      [version, Buffer.from(JSON.stringify({ ...envelope, ...changes })).toString("base64url"), signature].join(".");
    const notOurs = /not a token of this service/;
    for (const forged of ["", "x", "v1.x.y", `${version}.${body}.`, seal({ exp: envelope.exp + 9 }), seal({ p: {} })]) {
      await expectRefused(agent.call("post_task", { ...task, confirm: forged }), notOurs);
    }
    const misused = /belongs to other arguments, another tool or another API key/;
    await expectRefused(agent.call("post_task", { ...task, maxBudgetCents: 4_001, confirm }), misused);
    await expectRefused(agent.call("request_payout", { amountCents: 4_000, confirm }), misused);
    await expectRefused(secondKey.call("post_task", { ...task, confirm }), misused);
    await expectRefused(other.agent.call("post_task", { ...task, confirm }), misused);
    expect(await tasksOf(person)).toEqual([]);
    expect(await tasksOf(other.person)).toEqual([]);
  });

  test("is refused after five minutes", async () => {
    const { person, agent } = await newAgent();
    const task = input();
    const { confirm } = (await agent.call("post_task", task)).data.preview;
    vi.spyOn(Date, "now").mockReturnValue(Date.now() + 301_000);
    await expectRefused(agent.call("post_task", { ...task, confirm }), /five minutes are over/).finally(
      vi.restoreAllMocks,
    );
    expect(await tasksOf(person)).toEqual([]);
  });
});

test("an award is previewed anew if the bid's price or hours have changed since, and nothing is done", async () => {
  const { person, agent } = await newAgent();
  const bidder = await createPerson(service);
  const task = await postTask(person);
  const bid = await placeBid(bidder, task.id);
  const args = { taskId: task.id, bidId: bid.id };
  const { preview } = (await agent.call("award_task", args)).data;
  expect(preview.amounts).toEqual({ priceCents: 8_000, returnedCents: 2_000, etaHours: 24 });
  await bidder.patch(`/bids/${bid.id}`, { priceCents: 9_000 });
  const anew = await agent.call("award_task", { ...args, confirm: preview.confirm });
  expect(anew.text).toContain("Nothing was done");
  expect(anew.data.preview.amounts).toEqual({ priceCents: 9_000, returnedCents: 1_000, etaHours: 24 });
  await bidder.patch(`/bids/${bid.id}`, { etaHours: 700 });
  const later = await agent.call("award_task", { ...args, confirm: anew.data.preview.confirm });
  expect(later.text).toContain("Nothing was done");
  expect(later.data.preview.amounts).toEqual({ priceCents: 9_000, returnedCents: 1_000, etaHours: 700 });
  expect((await person.get(`/tasks/${task.id}`)).body.task.status).toBe("open");
  const { data } = await agent.call("award_task", { ...args, confirm: later.data.preview.confirm });
  expect(data.awardedBid).toMatchObject({ id: bid.id, priceCents: 9_000, status: "awarded" });
});

test("a budget, a cancellation, an acceptance and a dispute show their amounts first, and then act", async () => {
  const { person, agent } = await newAgent();
  const bidder = await createPerson(service);
  const { id: taskId } = await postTask(person);
  const raised = await agent.call("change_task", { taskId, maxBudgetCents: 12_000 });
  expect(raised.data.preview.amounts).toEqual({ maxBudgetCents: 12_000, differenceCents: 2_000 });
  expect((await agent.confirm("change_task", { taskId, maxBudgetCents: 12_000 })).data.task.maxBudgetCents).toBe(
    12_000,
  );
  // What moves no money needs no confirmation.
  expect((await agent.call("change_task", { taskId, title: "Another title" })).data.task.untrusted.title).toBe(
    "Another title",
  );
  expect((await agent.call("cancel_task", { taskId })).data.preview.amounts).toEqual({ returnedCents: 12_000 });
  expect((await agent.confirm("cancel_task", { taskId })).data.task.status).toBe("cancelled");

  const accepted = await deliveredTask(person, bidder);
  const accept = { taskId: accepted.task.id };
  expect((await agent.call("accept_delivery", accept)).data.preview.amounts).toEqual({ paidCents: 8_000 });
  expect((await agent.confirm("accept_delivery", accept)).data.task.status).toBe("accepted");

  const disputed = await deliveredTask(person, bidder);
  const dispute = { taskId: disputed.task.id, reason: "This is not what we agreed on." };
  expect((await agent.call("dispute_delivery", dispute)).data.preview.amounts).toEqual({ frozenCents: 8_000 });
  expect((await agent.confirm("dispute_delivery", dispute)).data.task.status).toBe("disputed");
  await expectBooksToBalance(service);
});

test("a settlement shows both sides where the price goes before one proposes and the other accepts it", async () => {
  const [ada, bo] = [await newAgent(), await newAgent()];
  const { task } = await deliveredTask(ada.person, bo.person);
  const proposal = { taskId: task.id, kind: "settle", bidderCents: 2_500, reason: "A third of it can be used." };
  const amounts = { heldCents: 8_000, toBidderCents: 2_500, toBuyerCents: 5_500 };
  const preview = await ada.agent.call("propose_agreement", proposal);
  expect(preview.data).toEqual({ preview: expect.objectContaining({ amounts }) });
  expect(preview.text).toContain("gets 2,500 cents ($25.00) of the 8,000 cents ($80.00)");
  expect((await ada.person.get(`/tasks/${task.id}/agreements`)).body.agreements).toEqual([]);
  const { agreement } = (await ada.agent.confirm("propose_agreement", proposal)).data;
  expect(agreement).toMatchObject({ status: "pending", bidderCents: 2_500, untrusted: { reason: proposal.reason } });

  const answer = { agreementId: agreement.id, answer: "accept" };
  expect((await bo.agent.call("answer_agreement", answer)).data.preview.amounts).toEqual(amounts);
  expect((await ada.person.get(`/tasks/${task.id}`)).body.task.status).toBe("delivered");
  const accepted = await bo.agent.confirm("answer_agreement", answer);
  expect(accepted.data).toMatchObject({ agreement: { status: "accepted" }, task: { status: "resolved" } });
  await expectBooksToBalance(service);
});

test("more time is proposed at once and accepted after a preview, and a proposal that cannot be kept is refused in the preview", async () => {
  const [ada, bo] = [await newAgent(), await newAgent()];
  const { task } = await awardedTask(ada.person, bo.person);
  const deliveryDueAt = new Date(Date.now() + 72 * 3_600_000).toISOString();
  const proposal = { taskId: task.id, kind: "extend", deliveryDueAt, reason: "My dictionary arrives on Friday." };
  const { agreement } = (await bo.agent.call("propose_agreement", proposal)).data;
  const answer = { agreementId: agreement.id, answer: "accept" };
  const preview = await ada.agent.call("answer_agreement", answer);
  expect(preview.data).toEqual({ preview: expect.objectContaining({ amounts: {} }) });
  expect((await ada.agent.confirm("answer_agreement", answer)).data.agreement.status).toBe("accepted");
  expect(Date.parse((await ada.person.get(`/tasks/${task.id}`)).body.task.deliveryDueAt)).toBe(
    Date.parse(deliveryDueAt),
  );

  const tooMuch = { taskId: task.id, kind: "settle", bidderCents: 8_001, reason: "More than we agreed on." };
  const refused = await bo.agent.call("propose_agreement", tooMuch);
  expect(refused.error).toMatchObject({ error: "invalid_input", issues: [{ path: "bidderCents" }] });
  const end = { taskId: task.id, kind: "cancel", reason: "Neither of us wants this." };
  expect((await bo.agent.call("propose_agreement", end)).data.preview.amounts).toEqual({
    ...{ heldCents: 8_000, toBidderCents: 0, toBuyerCents: 8_000 },
  });
});

test("a client that can ask a person does so with the protocol's own confirmation, and acts only after a yes", async () => {
  const asked: string[] = [];
  let answer = false;
  const confirms = (message: string) => {
    asked.push(message);
    return answer;
  };
  const { person, agent } = await newAgent({ confirms });
  const task = input();
  const declined = await agent.call("post_task", task);
  expect(declined).toMatchObject({ isError: true, text: expect.stringContaining("did not confirm") });
  expect(await tasksOf(person)).toEqual([]);
  answer = true;
  expect((await agent.call("post_task", task)).data.task.status).toBe("open");
  expect(asked).toHaveLength(2);
  expect(asked[0]).toContain("4,000 cents ($40.00)");
  expect(await tasksOf(person)).toHaveLength(1);
});

test("a client of 2025 that says it can ask gets a token all the same", async () => {
  const { agent } = await newAgent({ protocol: "2025", confirms: () => true });
  expect((await agent.call("post_task", input())).data.preview.confirm).toMatch(/^v1\./);
});

test("what needs no confirmation is repeated safely with an idempotencyKey", async () => {
  const { person: bidder, agent } = await newAgent();
  const buyer = await createPerson(service, { cents: 50_000 });
  const { id: taskId } = await postTask(buyer);
  const bid = { taskId, priceCents: 5_000, etaHours: 2, idempotencyKey: "my-bid" };
  const first = await agent.call("place_bid", bid);
  expect(first.data.bid).toMatchObject({ taskId, priceCents: 5_000 });
  expect((await agent.call("place_bid", bid)).data).toEqual(first.data);
  expect((await agent.call("place_bid", { ...bid, priceCents: 6_000 })).error).toMatchObject({
    error: "idempotency_conflict",
    status: 409,
  });
  const awarded = await awardedTask(buyer, bidder);
  const delivery = { bidId: awarded.bid.id, text: "The work.", idempotencyKey: "my-work" };
  const delivered = await agent.call("deliver", delivery);
  expect(delivered.data.delivery.bytes).toBe(9);
  expect((await agent.call("deliver", delivery)).data).toEqual(delivered.data);
});
