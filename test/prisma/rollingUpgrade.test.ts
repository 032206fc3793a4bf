import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readLocalState } from "../../server/local/dataDirectory/own.ts";
import { openDatabase } from "../../server/store/database.ts";
import { migrateDatabase } from "../../server/store/schema.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { placeBid, postTask, upload } from "../factories/tasks.ts";
import { expectBooksToBalance } from "../setup/books.ts";
import { openStream } from "../setup/eventStream.ts";
import { checkOut, commitsBefore } from "../setup/formerCode.ts";
import { useProcesses } from "../setup/serviceProcess.ts";
import { startReceiver } from "../webhooks/receiver.ts";

/** The first migration since the last release. After a release, it is the first one since that. */
const FIRST_SINCE_RELEASE = "20261124";

const { start, dataDirectory } = useProcesses();
const predecessors = commitsBefore(FIRST_SINCE_RELEASE).map(({ commit, migrations }) => ({
  commit,
  names: migrations.join(" and "),
}));

/** The first half of a lifecycle: posts and bids. */
async function begin(buyer: TestPerson, bidder: TestPerson) {
  const task = await postTask(buyer, { maxBudgetCents: 1_000 });
  const bid = await placeBid(bidder, task.id, { priceCents: 800 });
  return { taskId: task.id as string, bidId: bid.id as string };
}

/** The other half, to the payment. */
async function finish(buyer: TestPerson, bidder: TestPerson, { taskId, bidId }: { taskId: string; bidId: string }) {
  expect((await buyer.post(`/tasks/${taskId}/award`, { bidId })).status).toBe(200);
  const storageKey = await upload(bidder, bidId, "delivery");
  expect((await bidder.post(`/bids/${bidId}/delivery/finalize`, { storageKey })).status).toBe(201);
  expect((await buyer.post(`/tasks/${taskId}/accept`)).status).toBe(200);
}

async function topUp(buyer: TestPerson, amountCents: number): Promise<void> {
  const before = (await buyer.get("/wallet")).body.availableCents;
  const { checkoutUrl } = (await buyer.post("/wallet/topup", { amountCents })).body;
  const body = new URLSearchParams({ outcome: "pays" });
  await fetch(`${checkoutUrl}/pay`, { method: "POST", redirect: "manual", body });
  const wallet = async () => (await buyer.get("/wallet")).body.availableCents;
  await expect.poll(wallet).toBe(before + amountCents);
}

const lifecycle = ["task.created", "bid.received", "task.awarded", "delivery.posted", "task.accepted"];

const nameOf = (event: { type: string; data: { task?: { id: string } } }) => `${event.type} ${event.data.task?.id}`;

async function readLog(person: TestPerson, cursor: string): Promise<string[]> {
  const { status, body } = await person.get(`/events?after=${cursor}&limit=100`);
  expect(status).toBe(200);
  return body.events.map(nameOf);
}

test.each(predecessors)(
  "the code before $names ($commit) loses nothing when the schema under it becomes today's",
  async ({ commit }) => {
    const DATA_DIR = await dataDirectory();
    const folder = join(dirname(DATA_DIR), "code");
    checkOut(commit, folder);
    const former = await start({ DATA_DIR, WEBHOOK_ALLOW_INSECURE: "true" }, undefined, folder);
    await former.ready();
    const { databaseUrl, databaseOwnerUrl } = readLocalState(DATA_DIR) ?? {};
    if (!databaseUrl || !databaseOwnerUrl) throw new Error("the former code has written no local.json");
    const database = openDatabase(databaseUrl, { poolSize: 2 });
    onTestFinished(() => database.close());
    const receiver = await startReceiver();
    onTestFinished(() => receiver.stop());
    const service = { url: former.url, services: { database } };
    const [buyer, bidder] = await Promise.all([createPerson(service), createPerson(service)]);
    const cursor = (await buyer.get("/events?after=latest")).body.nextCursor;
    // Not with the key, which is created with every scope of today: the former code may not know all of them.
    const stream = await openStream(former.url, `/events/stream?after=${cursor}`, buyer.session);
    const hook = { url: `${receiver.url}/hook`, events: ["task.accepted"] };
    expect((await buyer.post("/webhooks", hook)).status).toBe(201);
    await topUp(buyer, 5_000);
    const underWay = await begin(buyer, bidder);

    // It has run every statement once, and has plans for them.
    expect(await migrateDatabase(databaseOwnerUrl, databaseUrl, { testClock: true })).not.toEqual([]);
    await finish(buyer, bidder, underWay);
    await topUp(buyer, 1_000);
    const whole = await begin(buyer, bidder);
    await finish(buyer, bidder, whole);

    expect((await buyer.get("/wallet")).body).toEqual({ availableCents: 4_400, heldCents: 0 });
    expect((await bidder.get("/wallet")).body).toEqual({ availableCents: 1_600, heldCents: 0 });
    const read = await readLog(buyer, cursor);
    const expected = [underWay, whole].flatMap(({ taskId }) => lifecycle.map((type) => `${type} ${taskId}`));
    expect(read.filter((event) => expected.includes(event))).toEqual(expected);
    for (const event of read) expect(nameOf((await stream.nextEvent()).event)).toBe(event);
    await expect.poll(() => new Set(receiver.received.map(({ event }) => event.data.task.id)).size).toBe(2);
    await expectBooksToBalance(service);
    expect(former.stderr()).toBe("");
  },
);
