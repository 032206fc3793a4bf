import { expect, onTestFinished, test } from "vitest";
import { readLocalState } from "../../server/local/dataDirectory/own.ts";
import { openDatabase } from "../../server/store/database.ts";
import { createPerson } from "../factories/people.ts";
import { deliveredTask, postTask } from "../factories/tasks.ts";
import { expectBooksToBalance } from "../setup/books.ts";
import { rest } from "../setup/client.ts";
import { runScript } from "../setup/commandProcess.ts";
import { eventually } from "../setup/processorControl.ts";
import { useProcesses } from "../setup/serviceProcess.ts";

const { start, preparedDirectory } = useProcesses();

test("all processes follow one clock; if the one that moves it is killed, it stands, and moving on finishes the work", async () => {
  const DATA_DIR = await preparedDirectory();
  const api = await start({ DATA_DIR, ROLE: "api" });
  await api.ready();
  const worker = await start({ DATA_DIR, ROLE: "worker" });
  await worker.ready();
  const database = openDatabase(readLocalState(DATA_DIR)?.databaseUrl ?? "", { poolSize: 2 });
  onTestFinished(database.close);
  const service = { url: api.url, services: { database } };
  const [buyer, bidder] = await Promise.all([createPerson(service, { cents: 30_000 }), createPerson(service)]);
  const statusOf = async (id: string) => (await buyer.get(`/tasks/${id}`)).body.task.status;

  // The api process moves the clock, and the worker accepts.
  const first = await deliveredTask(buyer, bidder);
  const { code, stdout, stderr } = await runScript("clock", ["advance", "49h"], { DATA_DIR });
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toMatch(/^It is \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC \(2d 1h ahead of .*\)\n/);
  expect(stdout).toContain("     1  task.accepted\n");
  expect(await statusOf(first.task.id)).toBe("accepted");

  const second = await deliveredTask(buyer, bidder);
  const moving = rest(api.url, "POST", "/test/clock", { body: { advance: "49h" } }).catch(() => null);
  const aheadOf = async () => (await rest(api.url, "GET", "/test/clock")).body.clock.aheadSeconds;
  await eventually(aheadOf, (seconds) => seconds > 50 * 3_600);
  await Promise.all([api.stop("SIGKILL"), moving]);

  // The next one goes on with the same clock; the worker connects again, and follows it.
  const again = await start({ DATA_DIR, ROLE: "api", PORT: new URL(api.url).port });
  await again.ready();
  expect(await aheadOf()).toBeGreaterThan(50 * 3_600);
  await rest(api.url, "POST", "/test/clock", { body: { advance: "49h" } });
  // Jobs that were under way are taken over when their worker has been silent for 30 real seconds.
  await eventually(
    async () => (await rest(api.url, "POST", "/test/clock", { body: { advance: "1s" } })).body,
    (result) => result.settled,
  );
  expect(await statusOf(second.task.id)).toBe("accepted");
  expect((await bidder.get("/wallet")).body).toEqual({ availableCents: 16_000, heldCents: 0 });
  const task = await postTask(buyer);
  expect(Date.parse(task.createdAt) - Date.now()).toBeGreaterThan(97 * 3_600_000);
  await expectBooksToBalance(service);
});
