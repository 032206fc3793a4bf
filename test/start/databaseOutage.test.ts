import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { LocalPostgres } from "../../server/local/postgres/process.ts";
import { startPostgres } from "../../server/local/postgres/start.ts";
import { sql } from "../../server/store/connection.ts";
import { openDatabase } from "../../server/store/database.ts";
import { createPerson } from "../factories/people.ts";
import { deliveredTask, postTask } from "../factories/tasks.ts";
import { expectBooksToBalance } from "../setup/books.ts";
import { rest } from "../setup/client.ts";
import { expectError } from "../setup/expectError.ts";
import { useProcesses } from "../setup/serviceProcess.ts";

/** How long Postgres is down. The suite's outage is short; try a longer one with `OUTAGE_SECONDS=10`. */
const outageSeconds = Number(process.env.OUTAGE_SECONDS ?? 1);

const { start, dataDirectory } = useProcesses();
let directory: string;
let postgres: LocalPostgres;
let receiver: ReturnType<typeof createServer>;
/** The types of the events that the subscriber has received. */
const received: string[] = [];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "rebid-outage-"));
  postgres = await startPostgres({ directory, durable: false });
  receiver = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => {
      body += chunk;
    });
    request.on("end", () => {
      received.push(JSON.parse(body).type);
      response.end();
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
});
afterAll(async () => {
  receiver.closeAllConnections();
  receiver.close();
  await postgres.stop();
  await rm(directory, { recursive: true, force: true });
});

test("while Postgres is down everything is 503, and then requests, jobs, sweeps and webhooks go on without a restart", async () => {
  const running = await start({
    DATA_DIR: await dataDirectory(),
    DATABASE_URL: postgres.url,
    ACCEPTANCE_WINDOW_SECONDS: "2",
    WEBHOOK_ALLOW_INSECURE: "true",
    LOG_LEVEL: "fatal",
  });
  await running.ready();
  const database = openDatabase(postgres.url, { poolSize: 2 });
  const service = { url: running.url, services: { database } };
  try {
    const [buyer, bidder] = await Promise.all([createPerson(service, { cents: 50_000 }), createPerson(service)]);
    const { port } = receiver.address() as AddressInfo;
    const hook = { url: `http://127.0.0.1:${port}/`, events: ["task.created", "task.accepted"] };
    expect((await buyer.post("/webhooks", hook)).status).toBe(201);
    const pools = await database.query<{ name: string }>(sql`
      SELECT DISTINCT application_name AS name FROM pg_stat_activity WHERE application_name LIKE 'rebid %' AND application_name <> 'rebid check' ORDER BY 1`);
    expect(pools.map(({ name }) => name)).toEqual(["rebid jobs", "rebid requests"]);
    const { task } = await deliveredTask(buyer, bidder); // accepted by the clock, during the outage

    await postgres.stop();
    const outageEnds = sleep(outageSeconds * 1000);
    const flood = await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        rest(running.url, "GET", index % 2 === 0 ? "/tasks" : "/wallet", { credentials: buyer.session }),
      ),
    );
    for (const answer of flood) {
      expectError(answer, "unavailable");
      expect(answer.headers.get("retry-after")).toBe("2");
    }
    expectError(await buyer.post("/tasks", { title: "Never" }), "unavailable");
    expect((await rest(running.url, "GET", "/livez")).status).toBe(200);
    expect(await rest(running.url, "GET", "/readyz")).toMatchObject({ status: 503, body: { status: "database" } });
    for (const path of ["/docs", "/app"]) expect((await fetch(running.url + path)).status).toBe(200);
    await outageEnds;
    postgres = await startPostgres({ directory, durable: false, previousUrl: postgres.url });

    await expect.poll(async () => (await rest(running.url, "GET", "/readyz")).status).toBe(200);
    await postTask(buyer, { title: "After the outage" });
    const statusOf = async () => (await buyer.get(`/tasks/${task.id}`)).body.task.status;
    await expect.poll(statusOf).toBe("accepted");
    await expect.poll(() => received.toSorted()).toContain("task.accepted");
    await expect.poll(() => received.filter((type) => type === "task.created")).toHaveLength(2);
    // The job queue runs as well, not only the sweeps.
    const jobs = () => database.query(sql`SELECT 1 FROM graphile_worker.jobs WHERE run_at < now() AND attempts = 0`);
    await expect.poll(jobs).toEqual([]);
    await expectBooksToBalance(service);
    expect(running.child.exitCode).toBeNull();
  } finally {
    await database.close();
  }
});
