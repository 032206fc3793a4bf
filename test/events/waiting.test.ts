import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { EventFollower } from "../../server/events/follower.ts";
import { advanceLog } from "../../server/events/log.ts";
import { createApp } from "../../server/http/app.ts";
import { serve } from "../../server/http/server.ts";
import { appRouter } from "../../server/procedures/router.ts";
import { buildContext } from "../../server/trpc.ts";
import { createKey, createPerson } from "../factories/people.ts";
import { postTask } from "../factories/tasks.ts";
import { rest } from "../setup/client.ts";
import { openStream } from "../setup/eventStream.ts";
import { useService } from "../setup/testService.ts";

const service = useService();

const placeOf = (cursor: string) => service.services.eventCursors.decrypt(cursor);

/** Waits until this many wait for events. */
const waiting = (count: number) => expect.poll(() => service.services.eventFollower.seatCount).toBe(count);

test("2,000 who wait cost no query each, and are told at once", async () => {
  const { database } = service.services;
  const ada = await createPerson(service, { cents: 100_000 });
  const task = await postTask(ada);
  const end = await advanceLog(database);
  let queries = 0;
  const counted = {
    query: ((...statement: Parameters<typeof database.query>) => {
      queries++;
      return database.query(...statement);
    }) as typeof database.query,
  };
  const follower = new EventFollower({ database: counted, log: { warn: () => {}, error: () => {} } });
  const over = new AbortController();
  const startMs = performance.now();
  const waits = Array.from({ length: 2_000 }, (_, index) => {
    const userId = index < 10 ? ada.id : crypto.randomUUID();
    return follower
      .takeSeat({ userId, keyId: null, types: null }, "here")
      .wait(end, { timeoutMs: 60_000, signal: over.signal });
  });
  await database.transaction(async (tx) => tx.events.record("task.updated", { task }, [ada.id]));
  const own = await Promise.all(waits.slice(0, 10));
  expect(own.map(({ events }) => events.length)).toEqual(Array.from({ length: 10 }, () => 1));
  await database.transaction(async (tx) => tx.events.record("task.updated", { task }, "everyone"));
  const others = await Promise.all(waits.slice(10));
  expect(new Set(others.map(({ events }) => events.map(({ position }) => position).join()))).toEqual(
    new Set([String(end.position + 2)]),
  );
  // One to look up the end each 50 ms, and one for what is new: the number of those who wait plays no part.
  expect(queries).toBeLessThan(4 + (performance.now() - startMs) / 50);
  const before = queries;
  await sleep(200);
  expect(queries).toBe(before);
});

test("a client that leaves is forgotten, and the 51st wait of a user is refused", async () => {
  const ada = await createPerson(service);
  const { nextCursor } = (await ada.get("/events?after=latest")).body;
  const leaving = new AbortController();
  const waits = Array.from({ length: 50 }, () =>
    rest(service.url, "GET", `/events?after=${nextCursor}&wait=30`, { credentials: ada.key, signal: leaving.signal }),
  );
  await waiting(50);
  const refused = await ada.get(`/events?after=${nextCursor}&wait=30`);
  expect([refused.status, refused.body.error, refused.body.limit]).toEqual([409, "limit_reached", 50]);
  const streamed = await ada.get("/events/stream");
  expect([streamed.status, streamed.body.error]).toEqual([409, "limit_reached"]);
  // Waits hold no turn: other calls of the same user go on.
  expect((await ada.get("/wallet")).status).toBe(200);
  expect((await ada.get(`/events?after=${nextCursor}`)).status).toBe(200);
  leaving.abort();
  await Promise.allSettled(waits);
  await waiting(0);
});

test("a process that stops answers those who wait, and they go on elsewhere with their cursor", async () => {
  const ada = await createPerson(service, { cents: 100_000 });
  const { nextCursor } = (await ada.get("/events?after=latest")).body;
  const eventFollower = new EventFollower({ database: service.services.database, log: service.services.log });
  const port = 20_000 + Math.floor(Math.random() * 20_000);
  const services = { ...service.services, eventFollower };
  const server = await serve(
    createApp(services, { trustProxy: false, metricsPort: null, metricsToken: null }),
    port,
    "127.0.0.1",
  );
  const url = `http://127.0.0.1:${port}`;
  const held = rest(url, "GET", `/events?after=${nextCursor}&wait=30`, { credentials: ada.key });
  const stream = await openStream(url, `/events/stream?after=${nextCursor}`, ada.key);
  expect(placeOf((await stream.next())?.id ?? "")).toEqual(placeOf(nextCursor));
  await expect.poll(() => eventFollower.seatCount).toBe(2);
  eventFollower.stop();
  await server.stop();
  const answer = (await held).body;
  expect([answer.events, placeOf(answer.nextCursor)]).toEqual([[], placeOf(nextCursor)]);
  expect(await stream.next()).toBeNull();
  await postTask(ada);
  expect((await ada.get(`/events?after=${nextCursor}`)).body.events).toHaveLength(1);
});

test("a wait and a stream end when their key is revoked", async () => {
  const ada = await createPerson(service);
  const key = await createKey(service.url, ada.session, []);
  const held = rest(service.url, "GET", "/events?after=latest&wait=30", { credentials: key });
  const stream = await openStream(service.url, "/events/stream?after=latest", key);
  await stream.next();
  await waiting(2);
  const { keys } = (await ada.get("/keys")).body;
  const [{ id }] = keys.filter(({ scopes }: { scopes: string[] }) => scopes.length === 0);
  await ada.delete(`/keys/${id}`);
  const answer = await held;
  expect([answer.status, answer.body.error]).toEqual([401, "unauthenticated"]);
  expect(await stream.next()).toBeNull();
  await waiting(0);
});

describe("the stream", () => {
  test("has each event once, with a cursor, and goes on where it stopped", async () => {
    const ada = await createPerson(service, { cents: 100_000 });
    await postTask(ada);
    const latest = (await ada.get("/events?after=latest")).body.nextCursor;
    const stream = await openStream(service.url, `/events/stream?after=${latest}&types=task.created`, ada.session);
    expect(stream.headers.get("content-type")).toMatch(/^text\/event-stream/);
    const begun = await stream.next();
    expect(begun).toEqual({ id: expect.any(String), comment: "still here", data: undefined });
    expect(placeOf(begun?.id ?? "")).toEqual(placeOf(latest));
    const first = await postTask(ada);
    const message = await stream.nextEvent();
    expect(message.event).toMatchObject({ type: "task.created", data: { task: { id: first.id } } });
    expect((await ada.get(`/events?after=${latest}`)).body.events[0]).toEqual(message.event);
    stream.close();
    await waiting(0);

    const second = await postTask(ada);
    const resumed = await openStream(service.url, "/events/stream?after=latest", {
      ...ada.session,
      "last-event-id": message.id,
    });
    expect((await resumed.nextEvent()).event.data.task.id).toBe(second.id);
    resumed.close();
    await waiting(0);
  });

  test("is refused with the status and body of any error, and HEAD ends at once", async () => {
    const ada = await createPerson(service);
    for (const [path, status, error] of [
      ["/events/stream?after=nonsense", 400, "invalid_input"],
      ["/events/stream?limit=5", 400, "invalid_input"],
      ["/events/stream?types=task.unheard_of", 400, "invalid_input"],
      ["/events?wait=31", 400, "invalid_input"],
      ["/events?after=", 200, undefined],
    ] as const) {
      const answer = await ada.get(path);
      expect([path, answer.status, answer.body?.error]).toEqual([path, status, error]);
    }
    const headers = { "last-event-id": "nonsense" };
    const resumed = await rest(service.url, "GET", "/events/stream?after=latest", { credentials: ada.key, headers });
    expect([resumed.status, resumed.body.issues]).toEqual([
      400,
      [{ path: "lastEventId", message: "`lastEventId` must be the `nextCursor` of an earlier answer, or `latest`." }],
    ]);
    const anonymous = await rest(service.url, "GET", "/events/stream");
    expect([anonymous.status, anonymous.body.error]).toEqual([401, "unauthenticated"]);
    const posted = await ada.post("/events/stream");
    expect([posted.status, posted.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
    expect((await rest(service.url, "HEAD", "/events/stream", { credentials: ada.key })).status).toBe(200);
    await waiting(0);
  });

  test("is a subscription of typed RPC, which goes on where it stopped", async () => {
    const ada = await createPerson(service, { cents: 100_000 });
    const latest = (await ada.get("/events?after=latest")).body.nextCursor;
    const subscribe = async (query: string) => {
      const stream = await openStream(
        service.url,
        `/trpc/events.stream?input=${encodeURIComponent(JSON.stringify({ after: latest }))}${query}`,
        ada.key,
      );
      return stream;
    };
    const stream = await subscribe("");
    const task = await postTask(ada);
    let last = await stream.nextEvent();
    while (last.event.event == null) last = await stream.nextEvent();
    expect(last.event.event.data.task.id).toBe(task.id);
    expect(last.id).toBe(last.event.nextCursor);
    stream.close();
    const again = await postTask(ada);
    const resumed = await subscribe(`&lastEventId=${last.id}`);
    let message = await resumed.nextEvent();
    while (message.event.event == null) message = await resumed.nextEvent();
    expect(message.event.event.data.task.id).toBe(again.id);
    resumed.close();
    await waiting(0);
    // A batch with a subscription is refused as before, and so is a POST.
    const batched = await rest(service.url, "GET", "/trpc/events.stream,wallet.read?batch=1&input=%7B%7D", {
      credentials: ada.key,
    });
    expect(batched.status).toBe(400);
    const posted = await rest(service.url, "POST", "/trpc/events.stream", { credentials: ada.key, body: {} });
    expect([posted.status, posted.headers.get("content-type")]).not.toEqual([200, "application/json"]);
  });
});

test("without HTTP, the procedures work as well", async () => {
  const ada = await createPerson(service);
  const principal = {
    kind: "apiKey" as const,
    userId: ada.id,
    keyId: crypto.randomUUID(),
    scopes: [],
    hasSpendLimit: false,
    approvalAboveCents: null,
    isGrant: false,
  };
  const caller = appRouter.createCaller(buildContext(service.services, principal));
  expect((await caller.events.list({ after: "latest" })).events).toEqual([]);
});
