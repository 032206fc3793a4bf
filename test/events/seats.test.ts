import getPort from "get-port";
import { afterEach, beforeEach, expect, test } from "vitest";
import { EventFollower } from "../../server/events/follower.ts";
import { createApp } from "../../server/http/app.ts";
import { type HttpServer, serve } from "../../server/http/server.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { postTask } from "../factories/tasks.ts";
import { rest } from "../setup/client.ts";
import { openStream } from "../setup/eventStream.ts";
import { useService } from "../setup/testService.ts";

const service = useService();
const SEATS = 8;

let follower: EventFollower;
let server: HttpServer;
let url: string;

/** Starts a process with few seats, behind a proxy that says where its clients are. */
async function start(limits: { perUser?: number; perProcess: number }): Promise<void> {
  const { database, log } = service.services;
  follower = new EventFollower({ database, log, limits });
  const port = await getPort();
  url = `http://127.0.0.1:${port}`;
  const services = { ...service.services, eventFollower: follower };
  server = await serve(createApp(services, { trustProxy: 1 }), port, "127.0.0.1");
}

async function stop(): Promise<void> {
  follower.stop();
  await server.stop();
}

beforeEach(() => start({ perUser: 4, perProcess: SEATS }));
afterEach(stop);

const from = ({ key }: TestPerson, address: string) => ({ ...key, "x-forwarded-for": address });
const latest = async (person: TestPerson): Promise<string> =>
  (await person.get("/events?after=latest")).body.nextCursor;

/** Waits for events of the log, which are only those of types that never happen here, unless it says otherwise. */
function wait(person: TestPerson, address: string, query = "after=latest&types=payout.updated") {
  let hasEnded = false;
  const answer = rest(url, "GET", `/events?${query}&wait=30`, { credentials: from(person, address) }).finally(() => {
    hasEnded = true;
  });
  return { answer, hasEnded: () => hasEnded };
}

/** Begins these waits one after the other, so that their order is known. */
async function waitInTurn(people: readonly TestPerson[], addressOf: (index: number) => string) {
  const waits = [];
  for (const [index, person] of people.entries()) {
    const taken = follower.seatCount;
    waits.push(wait(person, addressOf(index)));
    await expect.poll(() => follower.seatCount).toBe(taken + 1);
  }
  return waits;
}

const createPeople = (count: number) => Promise.all(Array.from({ length: count }, () => createPerson(service)));

test("accounts that have taken all seats give way to whoever has none: a wait ends with an empty page, and goes on", async () => {
  const [ada, bo, cy] = await createPeople(3);
  const greedy = [ada, ada, ada, ada, bo, bo, bo, bo] as TestPerson[];
  const after = await latest(cy as TestPerson);
  const waits = await waitInTurn(greedy, () => "192.0.2.1");

  const other = wait(cy as TestPerson, "198.51.100.7", `after=${after}`);
  const ended = await waits[0]?.answer;
  expect([ended?.status, ended?.body]).toEqual([200, { events: [], nextCursor: expect.any(String) }]);
  expect(follower.seatCount).toBe(SEATS);
  // Whoever has a seat takes no other's, so whoever gave way does not come back at once.
  for (const person of [ada, cy] as TestPerson[]) {
    const refused = await wait(person, "192.0.2.1").answer;
    expect([refused.status, refused.body.error]).toEqual([503, "unavailable"]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  }
  const task = await postTask(await createPerson(service, { cents: 10_000 }));
  expect((await other.answer).body.events).toMatchObject([{ data: { task: { id: task.id } } }]);
  // The cursor of the wait that ended early goes on where it was.
  const missed = await (ada as TestPerson).get(`/events?after=${ended?.body.nextCursor}`);
  expect(missed.body.events).toMatchObject([{ data: { task: { id: task.id } } }]);
  expect(waits.slice(1).map(({ hasEnded }) => hasEnded())).toEqual(Array.from({ length: SEATS - 1 }, () => false));
});

test("a stream that gives way ends, and goes on with the id of its last message", async () => {
  const [ada, bo] = (await createPeople(2)) as [TestPerson, TestPerson];
  const streams = [];
  for (let stream = 0; stream < 4; stream++) {
    streams.push(await openStream(url, "/events/stream?after=latest&types=task.created", from(ada, "192.0.2.1")));
  }
  const [first] = streams;
  const { id } = (await first?.next()) ?? {};
  const waits = await waitInTurn([bo, bo, bo, bo], () => "192.0.2.2");
  const typed = rest(url, "GET", "/events?after=latest&wait=30&types=payout.updated", {
    credentials: from(await createPerson(service), "192.0.2.3"),
  });
  expect(await first?.next()).toBeNull();
  expect(waits.some(({ hasEnded }) => hasEnded())).toBe(false);

  const task = await postTask(await createPerson(service, { cents: 10_000 }));
  streams[1]?.close();
  await expect.poll(() => follower.seatCount).toBe(SEATS - 1);
  const resumed = await openStream(url, "/events/stream?types=task.created", {
    ...from(ada, "192.0.2.1"),
    "last-event-id": id ?? "",
  });
  expect((await resumed.nextEvent()).event.data.task.id).toBe(task.id);
  follower.stop();
  expect((await typed).status).toBe(200);
});

test("an address with many accounts gives way to one with none, IPv6 by its /64; nobody else gives way", async () => {
  const people = await createPeople(SEATS + 4);
  const crowd = await waitInTurn(people.slice(0, SEATS - 2), (index) => `2001:db8:0:1::${index + 1}`);
  const alone = await waitInTurn(people.slice(SEATS - 2, SEATS), (index) => `192.0.2.${index}`);
  const [ada, bo, cy, di] = people.slice(SEATS) as [TestPerson, TestPerson, TestPerson, TestPerson];

  // Another account of the crowd, and of an address that has a seat already.
  for (const address of ["2001:db8:0:1:ffff::9", "192.0.2.0"]) {
    expect((await wait(ada, address).answer).status).toBe(503);
  }
  for (const [index, person] of [bo, cy].entries()) {
    const newcomer = wait(person, `2001:db8:0:${index + 2}::1`);
    expect((await crowd[index]?.answer)?.body).toMatchObject({ events: [] });
    expect(newcomer.hasEnded()).toBe(false);
  }
  expect([...crowd.slice(2), ...alone].some(({ hasEnded }) => hasEnded())).toBe(false);
  // Where everybody has one seat, and each address too, nobody has to give way.
  await stop();
  await start({ perProcess: 2 });
  await waitInTurn([ada, bo], (index) => `192.0.2.${index}`);
  expect((await wait(di, "198.51.100.7").answer).status).toBe(503);
});
