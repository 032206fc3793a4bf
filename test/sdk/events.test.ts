import { GoneError, type LogEvent, Rebid, TaskStatusError, UnauthorizedError } from "@rebid/sdk";
import { beforeAll, expect, test } from "vitest";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { placeBid, postTask, upload } from "../factories/tasks.ts";
import { useService } from "../setup/testService.ts";
import { agentOf, failureOf, noPauses, pageOf } from "./clients.ts";
import { hang, json, refusal, reset, useScriptedServer } from "./scriptedServer.ts";

const service = useService();
const server = useScriptedServer();
let buyer: TestPerson;
let bidder: TestPerson;

beforeAll(async () => {
  buyer = await createPerson(service, { cents: 1_000_000 });
  bidder = await createPerson(service);
});

test("follow returns what has happened and then what happens, each once, with its type", async () => {
  const task = await postTask(buyer);
  const { nextCursor } = await agentOf(service, buyer).events.list({ after: "latest" });
  const first = await placeBid(bidder, task.id);
  const seen: string[] = [];
  for await (const event of agentOf(service, buyer).events.follow({ after: nextCursor, types: ["bid.received"] })) {
    seen.push(event.data.bid.id);
    if (seen.length === 2) break;
    await bidder.post(`/bids/${first.id}/withdraw`);
    await placeBid(bidder, task.id);
  }
  expect(new Set(seen).size).toBe(2);
  expect(seen[0]).toBe(first.id);
});

test("another follower goes on behind the cursor of the last event", async () => {
  const client = agentOf(service, buyer);
  const { nextCursor } = await client.events.list({ after: "latest" });
  const titles = ["one", "two", "three"];
  for (const title of titles) await postTask(buyer, { title });
  const seen: string[] = [];
  const store = { cursor: nextCursor };
  for (const _ of titles) {
    const follower = client.events.follow({ after: store.cursor, types: ["task.created"] });
    for await (const event of follower) {
      seen.push(event.data.task.title);
      store.cursor = follower.cursor ?? "";
      break;
    }
  }
  expect(seen).toEqual(titles);
});

const event = (id: string) =>
  `data: {"id":"${id}","type":"task.created","createdAt":"","data":{"task":{"id":"${id}"}}}\nid: c-${id}\n\n`;

/** Sends these pieces as a stream, and ends or breaks it. */
const stream =
  (end: "end" | "break" | "stay", ...pieces: string[]) =>
  (response: import("node:http").ServerResponse) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = () => {
      const piece = pieces.shift();
      if (piece !== undefined) response.write(piece, () => setImmediate(send));
      else if (end === "end") response.end();
      else if (end === "break") response.destroy();
    };
    send();
  };

async function take(count: number, events: AsyncIterable<LogEvent>): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of events) if (ids.push(id) === count) break;
  return ids;
}

function scripted() {
  const { timing, pausesMs } = noPauses();
  return { rebid: new Rebid({ baseUrl: server.url, timing }), pausesMs };
}

test("when the connection ends or breaks, or the service is away, it goes on behind the last event", async () => {
  const { rebid, pausesMs } = scripted();
  server.play(
    stream("end", ": still here\nid: c-0\n\n", event("1")),
    stream("break", event("2"), 'data: {"id":"half'),
    reset,
    refusal(503, "unavailable", { "retry-after": "3" }),
    reset,
    reset,
    reset,
    stream("end", ": still here\nid: c-quiet\n\n"),
    stream("stay", event("3")),
  );
  expect(await take(3, rebid.events.follow({ after: "c-start" }))).toEqual(["1", "2", "3"]);
  const cursors = server.requests.map(({ url }) => new URL(url ?? "", server.url).searchParams.get("after"));
  expect(cursors).toEqual(["c-start", "c-1", ...Array(6).fill("c-2"), "c-quiet"]);
  expect(pausesMs).toHaveLength(8);
  expect(pausesMs[3]).toBeGreaterThanOrEqual(3_000);
});

test("pieces of a stream may be cut anywhere, also inside a character", async () => {
  const { rebid } = scripted();
  const bytes = Buffer.from(event("é😀").replaceAll("\n", "\r\n"));
  server.play((response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    let index = 0;
    const send = () => {
      if (index < bytes.length) response.write(bytes.subarray(index, ++index), () => setImmediate(send));
    };
    send();
  });
  expect(await take(1, rebid.events.follow())).toEqual(["é😀"]);
});

test("an unreachable service is reported after the client's retries, when nothing was connected before", async () => {
  const { rebid } = scripted();
  server.play(reset);
  expect(await failureOf(take(1, rebid.events.follow()))).toMatchObject({ name: "RebidConnectionError" });
  expect(server.requests).toHaveLength(3);
});

test("what cannot be mended is thrown: an expired cursor, an ended key", async () => {
  const { rebid } = scripted();
  server.play(refusal(410, "cursor_expired"));
  expect(await failureOf(take(1, rebid.events.follow({ after: "old" })))).toBeInstanceOf(GoneError);
  server.play(stream("end", event("1")), refusal(401, "unauthenticated"));
  expect(await failureOf(take(2, rebid.events.follow()))).toBeInstanceOf(UnauthorizedError);
  const client = agentOf(service, buyer);
  expect(await failureOf(take(1, client.events.follow({ after: "nonsense" })))).toMatchObject({ status: 400 });
});

test("a signal ends a quiet stream, and leaving the loop closes it", async () => {
  const { rebid } = scripted();
  const controller = new AbortController();
  const reason = new Error("enough");
  server.play((response, request) => {
    stream("stay")(response);
    response.flushHeaders();
    setImmediate(() => controller.abort(reason));
    void request;
  });
  expect(await failureOf(take(1, rebid.events.follow({ signal: controller.signal })))).toBe(reason);
  let isClosed = false;
  server.play((response) => {
    response.on("close", () => {
      isClosed = true;
    });
    stream("stay", event("1"))(response);
  });
  await take(1, rebid.events.follow());
  await expect.poll(() => isClosed).toBe(true);
});

test("waitFor returns the task when it has one of the statuses, at once or later", async () => {
  const client = agentOf(service, buyer);
  const task = await postTask(buyer);
  expect((await client.tasks.waitFor(task.id, ["open", "awarded"])).id).toBe(task.id);
  const bid = await placeBid(bidder, task.id);
  const delivered = client.tasks.waitFor(task.id, ["delivered"]);
  const seenByBidder = agentOf(service, bidder).tasks.waitFor(task.id, ["awarded"]);
  await buyer.post(`/tasks/${task.id}/award`, { bidId: bid.id });
  expect((await seenByBidder).awardedBidId).toBe(bid.id);
  const storageKey = await upload(bidder, bid.id, "delivery");
  await bidder.post(`/bids/${bid.id}/delivery/finalize`, { storageKey });
  expect((await delivered).status).toBe("delivered");
});

test("waitFor does not wait for what can no longer come, and says what the task is", async () => {
  const client = agentOf(service, buyer);
  const task = await postTask(buyer);
  const waiting = failureOf(client.tasks.waitFor(task.id, ["delivered", "resolved"]));
  await buyer.post(`/tasks/${task.id}/cancel`);
  const error = await waiting;
  expect(error).toBeInstanceOf(TaskStatusError);
  expect(error).toMatchObject({ task: { id: task.id, status: "cancelled" } });
  expect(await failureOf(client.tasks.waitFor(task.id, []))).toBeInstanceOf(TypeError);
  expect(await failureOf(client.tasks.waitFor(crypto.randomUUID(), ["open"]))).toMatchObject({ status: 404 });
});

test("waitFor works with a session, and ends with its signal", async () => {
  const task = await postTask(buyer);
  const controller = new AbortController();
  const waiting = failureOf(pageOf(service, buyer).tasks.waitFor(task.id, ["awarded"], { signal: controller.signal }));
  controller.abort(new Error("enough"));
  expect(await waiting).toMatchObject({ message: "enough" });
});

test("waitFor reads the task again after a quiet wait, so that a missed event delays it only", async () => {
  const { rebid } = scripted();
  const task = (status: string) => json(200, { task: { id: "t1", status } });
  const quiet = json(200, { events: [], nextCursor: "c" });
  server.play(quiet, task("open"), quiet, task("awarded"), hang);
  expect(await rebid.tasks.waitFor("t1", ["awarded"])).toEqual({ id: "t1", status: "awarded" });
  expect(server.requests.map(({ url }) => url?.split("?")[0])).toEqual([
    "/events",
    "/tasks/t1",
    "/events",
    "/tasks/t1",
  ]);
});
