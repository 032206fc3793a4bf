import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { listen } from "../../server/local/listen.ts";
import type { ReceivedMail } from "../../server/local/mailbox/mails.ts";
import { smtpServer } from "../../server/local/mailbox/smtp.ts";
import { createReachable } from "../factories/mails.ts";
import { inboxOf } from "../factories/notifications.ts";
import { createPerson } from "../factories/people.ts";
import { placeBid, postTask } from "../factories/tasks.ts";
import { useService } from "../setup/testService.ts";

const service = useService();
const root = join(import.meta.dirname, "../..");
const received: ReceivedMail[] = [];
const smtp = smtpServer((mail) => void received.push(mail));
let smtpUrl = "";
beforeAll(async () => {
  smtpUrl = `smtp://127.0.0.1:${await listen(smtp, undefined)}`;
});

const workers = new Set<ChildProcess>();
afterAll(async () => {
  await Promise.all([...workers].map(kill));
  smtp.close();
});

/** A worker process of its own on the test's backing services, as `ROLE=worker npm start` makes one. */
function startWorker(): void {
  const keys = { S3_ENDPOINT: "http://127.0.0.1:9", S3_BUCKET: "b", S3_ACCESS_KEY_ID: "k", S3_SECRET_ACCESS_KEY: "s" };
  const worker = spawn(process.execPath, ["server/start/main.ts"], {
    cwd: root,
    stdio: "ignore",
    env: {
      ...{ ...process.env, ...keys, ROLE: "worker", DATABASE_URL: service.databaseUrl, SMTP_URL: smtpUrl },
      MAIL_FROM: "Rebid <rebid@example.com>",
      SESSION_SECRET: "a secret of the tests of 32 characters or more",
      STRIPE_SECRET_KEY: "sk_test_tests",
      STRIPE_WEBHOOK_SECRET: "whsec_tests",
      STRIPE_API_BASE: service.processorUrl,
    },
  });
  workers.add(worker);
}

async function kill(worker: ChildProcess): Promise<void> {
  workers.delete(worker);
  const exited = once(worker, "exit");
  worker.kill("SIGKILL");
  await exited;
}

const BUYERS = 8;
/** Of each buyer: no more than are mailed in an hour one by one. */
const BIDS = 6;
const KILLS = 3;

test("while workers are killed at work, each person is told of each event once, and mailed once or again with the same Message-ID", {
  timeout: 400_000,
}, async () => {
  const buyers = await Promise.all(Array.from({ length: BUYERS }, () => createReachable(service, { cents: 100_000 })));
  const bidder = await createPerson(service);
  for (let count = 0; count < 2; count++) startWorker();
  const killing = (async () => {
    for (let round = 0; round < KILLS; round++) {
      const before = received.length;
      await expect.poll(() => received.length, { timeout: 120_000, interval: 5 }).toBeGreaterThan(before);
      // Every other round kills both, so that nobody still holds what was under way.
      const victims = [...workers].slice(0, round % 2 === 0 ? 2 : 1);
      await Promise.all(victims.map(kill));
      for (const _ of victims) startWorker();
    }
  })();
  for (let bid = 0; bid < BIDS; bid++) {
    await Promise.all(buyers.map(async (buyer) => placeBid(bidder, (await postTask(buyer)).id)));
  }
  await killing;

  const messageIds = () => new Set(received.map(({ headers }) => headers["message-id"]));
  await expect.poll(() => messageIds().size, { timeout: 240_000, interval: 100 }).toBeGreaterThanOrEqual(BUYERS * BIDS);
  for (const buyer of buyers) {
    const inbox = await inboxOf(buyer);
    expect(inbox.map(({ type }) => type)).toEqual(Array.from({ length: BIDS }, () => "bid.received"));
    expect(new Set(inbox.map(({ event }) => event)).size).toBe(BIDS);
    const mails = received.filter(({ to }) => to.includes(buyer.email));
    const byId = Map.groupBy(mails, ({ headers }) => headers["message-id"]);
    expect(byId.size).toBe(BIDS);
    // What was sent again is the same, and each is about another task.
    const subjects = [...byId.values()].map((copies) => new Set(copies.map(({ subject }) => subject)));
    expect(subjects.every(({ size }) => size === 1)).toBe(true);
    expect(new Set(subjects.flatMap((each) => [...each])).size).toBe(BIDS);
  }
  const left = await service.services.database.prisma.notificationMail.count({ where: { sent: false } });
  expect(left).toBe(0);
});
