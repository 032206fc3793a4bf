import { createHash } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { sweepPart } from "../../../server/market/uploads/sweep.ts";
import { sql } from "../../../server/store/connection.ts";
import { addShared, putShared } from "../../factories/conversation.ts";
import { createModerator, makeModerator } from "../../factories/moderators.ts";
import { createPerson, type TestPerson } from "../../factories/people.ts";
import { awardedTask, deliveredTask, disputedTask, placeBid, postTask } from "../../factories/tasks.ts";
import { rest } from "../../setup/client.ts";
import { expectErrorBody } from "../../setup/expectError.ts";
import { useService } from "../../setup/testService.ts";

const service = useService();
const DAY = 86_400;
let buyer: TestPerson;
let bidder: TestPerson;
let rival: TestPerson;

beforeAll(async () => {
  buyer = await createPerson(service, { cents: 10_000_000 });
  bidder = await createPerson(service);
  rival = await createPerson(service);
});

const run = (statement: ReturnType<typeof sql>) => service.services.database.query(statement);
const send = (person: TestPerson, bidId: string, text: string, fileIds?: string[]) =>
  person.post(`/bids/${bidId}/messages`, { text, ...(fileIds && { fileIds }) });
const messagesOf = async (person: TestPerson, bidId: string) =>
  (await person.get(`/bids/${bidId}/messages`)).body.messages;
const conversationOf = async (person: TestPerson, bidId: string) =>
  (await person.get("/conversations?limit=100")).body.conversations.find(
    (conversation: { bidId: string }) => conversation.bidId === bidId,
  );
const eventsOf = async (person: TestPerson) =>
  (await person.get("/events?types=message.posted&limit=100")).body.events.map(
    ({ data }: { data: { message: object } }) => data.message,
  );
const newBid = async () => placeBid(bidder, (await postTask(buyer)).id);

test("the two sides of a bid write to each other, each message reaches the other side, and nobody else sees any", async () => {
  const bid = await newBid();
  const rivals = await placeBid(rival, bid.taskId);
  const sent = await send(buyer, bid.id, "Which Finnish?\nWritten?");
  expect(sent.status).toBe(201);
  expect(sent.body.message).toEqual({
    ...{ id: expect.any(String), bidId: bid.id, taskId: bid.taskId, role: "buyer", text: "Which Finnish?\nWritten?" },
    sender: { id: buyer.id, displayName: expect.any(String) },
    ...{ files: [], createdAt: expect.stringMatching(/\.\d{6}Z$/) },
  });
  const answer = await send(bidder, bid.id, "x".repeat(5_000));
  for (const person of [buyer, bidder]) {
    expect(await messagesOf(person, bid.id)).toEqual([answer.body.message, sent.body.message]);
  }
  const [toBidder, toBuyer] = [(await eventsOf(bidder)).at(-1), (await eventsOf(buyer)).at(-1)];
  expect(toBidder).toMatchObject({ id: sent.body.message.id, bidId: bid.id, sender: { id: buyer.id }, fileCount: 0 });
  expect(toBuyer).toMatchObject({ sender: { id: bidder.id }, text: "x".repeat(500), textTruncated: true });
  for (const method of [
    () => rival.get(`/bids/${bid.id}/messages`),
    () => send(rival, bid.id, "Hello."),
    () => rival.post(`/bids/${bid.id}/messages/read`, { upTo: sent.body.message.id }),
    () => rival.post(`/bids/${bid.id}/files/init`, { mimeType: "text/plain", bytes: 1 }),
  ]) {
    expectErrorBody((await method()).body, "not_found");
  }
  expect(await messagesOf(rival, rivals.id)).toEqual([]);
  expect(await eventsOf(rival)).toEqual([]);
});

test("a conversation list has the newest first, with what is unread; reading moves forward only", async () => {
  const [first, second] = [await newBid(), await newBid()];
  const messages = [];
  for (let count = 0; count < 3; count++) messages.push((await send(buyer, first.id, `Message ${count}`)).body.message);
  await send(bidder, second.id, "Another conversation.");
  await send(bidder, first.id, "🐧".repeat(501));
  const { conversations } = (await bidder.get("/conversations?limit=2")).body;
  expect(conversations.map(({ bidId }: { bidId: string }) => bidId)).toEqual([first.id, second.id]);
  const shown = await conversationOf(bidder, first.id);
  expect(shown).toEqual({
    ...{ bidId: first.id, task: { id: first.taskId, title: expect.any(String), status: "open" } },
    with: { id: buyer.id, displayName: expect.any(String) },
    lastMessage: {
      ...{ text: "🐧".repeat(500), textTruncated: true, senderId: bidder.id, fileCount: 0 },
      createdAt: shown.updatedAt,
    },
    ...{ unreadCount: 3, updatedAt: expect.stringMatching(/\.\d{6}Z$/) },
  });
  expect(await conversationOf(buyer, first.id)).toMatchObject({ unreadCount: 1, with: { id: bidder.id } });
  const read = (upTo: string) => bidder.post(`/bids/${first.id}/messages/read`, { upTo });
  for (const [index, unread] of [
    [1, 1],
    [0, 1],
    [2, 0],
  ] as const) {
    expect((await read(messages[index].id)).status).toBe(204);
    expect(await conversationOf(bidder, first.id)).toMatchObject({ unreadCount: unread });
  }
  expect((await read(crypto.randomUUID())).body.error).toBe("not_found");
  expect(await conversationOf(buyer, first.id)).toMatchObject({ unreadCount: 1 });
});

test("what is unread is counted exactly over all conversations, whatever page is read", async () => {
  const [reader, writer] = [await createPerson(service, { cents: 10_000_000 }), await createPerson(service)];
  const bids = [];
  for (let count = 0; count < 30; count++) {
    const bid = await placeBid(writer, (await postTask(reader)).id);
    for (let messages = 0; messages <= count % 3; messages++) await send(writer, bid.id, `Message ${messages}`);
    bids.push(bid);
  }
  await send(reader, bids[7]?.id, "My own counts for the other side.");
  const first = (await reader.get("/conversations?limit=25")).body;
  const rest = (await reader.get(`/conversations?limit=25&cursor=${encodeURIComponent(first.nextCursor)}`)).body;
  const all = [...first.conversations, ...rest.conversations];
  expect(all).toHaveLength(30);
  expect(all.reduce((sum, { unreadCount }) => sum + unreadCount, 0)).toBe(60);
  expect([first.unreadCount, rest.unreadCount]).toEqual([60, 60]);
  expect((await writer.get("/conversations?limit=1")).body.unreadCount).toBe(1);
  expect((await (await createPerson(service)).get("/conversations")).body.unreadCount).toBe(0);
  const [newest] = await messagesOf(reader, bids[2]?.id);
  await reader.post(`/bids/${bids[2]?.id}/messages/read`, { upTo: newest.id });
  expect((await reader.get("/conversations?limit=1")).body.unreadCount).toBe(57);
});

test("messages that are sent at once all arrive, in one order for everyone, with exact counts", async () => {
  const bid = await newBid();
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, index) => send(index % 2 === 0 ? buyer : bidder, bid.id, `Message ${index}`)),
  );
  expect(answers.map(({ status }) => status)).toEqual(Array(40).fill(201));
  const walked: { id: string; createdAt: string }[] = [];
  for (let cursor = ""; ; ) {
    const { body } = await buyer.get(`/bids/${bid.id}/messages?limit=7&cursor=${encodeURIComponent(cursor)}`);
    walked.push(...body.messages);
    if (body.nextCursor === null) break;
    cursor = body.nextCursor;
  }
  expect(new Set(walked.map(({ id }) => id)).size).toBe(40);
  const times = walked.map(({ createdAt }) => createdAt);
  expect(times).toEqual(times.toSorted().toReversed());
  expect((await conversationOf(buyer, bid.id)).unreadCount).toBe(20);
  await buyer.post(`/bids/${bid.id}/messages/read`, { upTo: walked[0]?.id });
  expect((await conversationOf(buyer, bid.id)).unreadCount).toBe(0);
});

describe("files", () => {
  test("belong to who uploaded them and are in one message, which both sides can download from", async () => {
    const bid = await newBid();
    const path = `/bids/${bid.id}`;
    const file = await addShared(bidder, path, "Page one.", { fileName: "page.txt" });
    expect(file).toEqual({
      ...{
        id: expect.any(String),
        fileName: "page.txt",
        mimeType: "text/plain",
        detectedMimeType: "text/plain",
        bytes: 9,
      },
      ...{ sha256: createHash("sha256").update("Page one.").digest("hex"), createdAt: expect.any(String) },
      downloadUrl: expect.any(String),
    });
    const elsewhere = await addShared(bidder, `/bids/${(await newBid()).id}`);
    const theirs = await addShared(buyer, path);
    for (const fileIds of [[theirs.id], [elsewhere.id], [crypto.randomUUID()], [file.id, file.id]]) {
      const { status, body } = await send(bidder, bid.id, "With a file.", fileIds);
      expect([status, body.error, body.issues?.[0].path]).toEqual([400, "invalid_input", "fileIds"]);
    }
    expect(await messagesOf(buyer, bid.id)).toEqual([]);
    const both = await Promise.all([1, 2].map(() => bidder.post(`${path}/messages`, { fileIds: [file.id] })));
    expect(both.map(({ status }) => status).toSorted()).toEqual([201, 400]);
    const [message] = await messagesOf(buyer, bid.id);
    expect(message).toMatchObject({ text: null, files: [{ id: file.id, sha256: file.sha256 }] });
    expect(await (await fetch(message.files[0].downloadUrl)).text()).toBe("Page one.");
    expect(await conversationOf(buyer, bid.id)).toMatchObject({ lastMessage: { text: null, fileCount: 1 } });
    expect((await eventsOf(buyer)).at(-1)).toMatchObject({ text: null, fileCount: 1 });
    const more = (await buyer.get(`/tasks/${bid.taskId}`)).body;
    expect([more.files, more.fileCount]).toEqual([[], 0]);
  });

  test("have at most 25 MB, and their key starts with the bid's", async () => {
    const bid = await newBid();
    const { body } = await bidder.post(`/bids/${bid.id}/files/init`, { mimeType: "text/plain", bytes: 25_000_001 });
    expect(body).toMatchObject({ error: "file_too_large", violations: [{ field: "bytes", limit: 25_000_000 }] });
    const { storageKey } = await putShared(bidder, `/bids/${bid.id}`);
    expect(storageKey).toMatch(new RegExp(`^messages/${bid.id}/`));
    const other = await newBid();
    const answer = await bidder.post(`/bids/${other.id}/files/finalize`, { storageKey });
    expect([answer.body.error, answer.body.issues[0].path]).toEqual(["invalid_input", "storageKey"]);
    const first = await bidder.post(`/bids/${bid.id}/files/finalize`, { storageKey });
    const again = await bidder.post(`/bids/${bid.id}/files/finalize`, { storageKey });
    expect(again.body.file.id).toBe(first.body.file.id);
  });

  test("that are in no message are deleted after 24 hours, and the others stay", async () => {
    const owner = await createPerson(service);
    const bid = await placeBid(owner, (await postTask(buyer)).id);
    const [unused, used] = [await addShared(owner, `/bids/${bid.id}`), await addShared(owner, `/bids/${bid.id}`)];
    await owner.post(`/bids/${bid.id}/messages`, { fileIds: [used.id] });
    await run(
      sql`UPDATE artifacts SET created_at = created_at - interval '25 hours' WHERE owner_id = ${owner.id}::uuid`,
    );
    await run(sql`UPDATE uploads SET created_at = created_at - interval '25 hours' WHERE owner_id = ${owner.id}::uuid`);
    for (let next: Parameters<typeof sweepPart>[1] | null = {}; next !== null; )
      next = await sweepPart(service.services, next, 1_000);
    const [message] = await messagesOf(buyer, bid.id);
    expect((await fetch(message.files[0].downloadUrl)).status).toBe(200);
    expect((await fetch(unused.downloadUrl)).status).toBe(404);
    expect((await owner.post(`/bids/${bid.id}/messages`, { fileIds: [unused.id] })).body.issues[0].path).toBe(
      "fileIds",
    );
    expect(await run(sql`SELECT bytes, open FROM file_totals WHERE user_id = ${owner.id}::uuid`)).toEqual([
      { bytes: used.bytes, open: 0 },
    ]);
  });
});

test("what is no message is refused with its field, and changes nothing", async () => {
  const bid = await newBid();
  for (const [body, path] of [
    [{}, ""],
    [{ fileIds: [] }, ""],
    [{ text: "" }, "text"],
    [{ text: null }, "text"],
    [{ text: "x".repeat(5_001) }, "text"],
    [{ text: "x", fileIds: ["1"] }, "fileIds.0"],
    [{ text: "x", fileIds: Array.from({ length: 11 }, () => crypto.randomUUID()) }, "fileIds"],
  ] as const) {
    const answer = await buyer.post(`/bids/${bid.id}/messages`, body);
    expect([answer.status, answer.body.issues[0].path]).toEqual([400, path]);
  }
  expect(await messagesOf(buyer, bid.id)).toEqual([]);
});

describe("writing", () => {
  test("needs an active or awarded bid; what was said can be read for good", async () => {
    const bid = await newBid();
    await send(bidder, bid.id, "Before.");
    await bidder.post(`/bids/${bid.id}/withdraw`);
    for (const person of [buyer, bidder]) {
      expect((await send(person, bid.id, "After.")).body.error).toBe("wrong_status");
      expect(await messagesOf(person, bid.id)).toHaveLength(1);
    }
    const awarded = await awardedTask(buyer, bidder);
    expect((await send(buyer, awarded.bid.id, "Begin.")).status).toBe(201);
  });

  test("ends 30 days after the task has", async () => {
    const { task, bid } = await deliveredTask(buyer, bidder);
    await buyer.post(`/tasks/${task.id}/accept`);
    const endedAgo = (seconds: number) =>
      run(sql`
        UPDATE tasks SET accepted_at = service_now() - ${seconds} * interval '1 second',
               closed_at = service_now() - ${seconds} * interval '1 second'
        WHERE id = ${task.id}::uuid`);
    await endedAgo(30 * DAY - 600);
    expect((await send(bidder, bid.id, "Thank you.")).status).toBe(201);
    expect((await buyer.get(`/tasks/${task.id}`)).body.availableActions).toContain("messages.send");
    await endedAgo(30 * DAY);
    for (const person of [buyer, bidder]) {
      expect((await send(person, bid.id, "Too late.")).body.error).toBe("wrong_status");
      expect((await person.get(`/tasks/${task.id}`)).body.availableActions).not.toContain("messages.send");
      expect(await messagesOf(person, bid.id)).toHaveLength(1);
    }
  });
});

test("a moderator without a part reads and writes while the task is disputed, both sides see the role, and then it is 404", async () => {
  const moderator = await createModerator(service);
  const interested = await createPerson(service);
  await makeModerator(service, interested);
  const { task, bid, dispute } = await disputedTask(buyer, bidder);
  const calm = await awardedTask(buyer, bidder);
  await send(buyer, bid.id, "The second page is missing.");
  expectErrorBody((await send(moderator, calm.bid.id, "Hello.")).body, "not_found");
  await run(sql`
    INSERT INTO bids (task_id, bidder_id, price_cents, eta_hours, status)
    VALUES (${task.id}::uuid, ${interested.id}::uuid, 1, 1, 'withdrawn')`);
  expectErrorBody((await interested.get(`/bids/${bid.id}/messages`)).body, "not_found");
  const withKey = await rest(service.url, "GET", `/bids/${bid.id}/messages`, { credentials: moderator.key });
  expectErrorBody(withKey.body, "not_found");
  const said = await send(moderator, bid.id, "Where is the second page?");
  expect(said.body.message).toMatchObject({ role: "moderator", sender: { id: moderator.id } });
  for (const person of [buyer, bidder]) {
    const [newest] = await messagesOf(person, bid.id);
    expect(newest).toMatchObject({ role: "moderator", text: "Where is the second page?" });
    expect((await eventsOf(person)).at(-1)).toMatchObject({ role: "moderator" });
  }
  expect(await conversationOf(buyer, bid.id)).toMatchObject({ unreadCount: 1 });
  expect(await conversationOf(bidder, bid.id)).toMatchObject({ unreadCount: 2 });
  expect((await moderator.post(`/bids/${bid.id}/messages/read`, { upTo: said.body.message.id })).status).toBe(204);
  expect((await moderator.get("/conversations")).body.conversations).toEqual([]);
  await moderator.post(`/disputes/${dispute.id}/resolve`, { resolution: "refund" });
  expectErrorBody((await moderator.get(`/bids/${bid.id}/messages`)).body, "not_found");
  expectErrorBody((await send(moderator, bid.id, "Goodbye.")).body, "not_found");
});
