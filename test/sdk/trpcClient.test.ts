import { createRebidClient, errorBodyOf, type RebidRouter, rebidLinks } from "@rebid/sdk/trpc";
import { createTRPCClient, TRPCClientError } from "@trpc/client";
import { beforeAll, expect, test } from "vitest";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { taskInput } from "../factories/tasks.ts";
import { useService } from "../setup/testService.ts";

const service = useService();
let buyer: TestPerson;

beforeAll(async () => {
  buyer = await createPerson(service, { cents: 100_000 });
});

const heldCents = async () => (await buyer.get("/wallet")).body.heldCents;

test("a front end lists, posts and reads with the session's cookie", async () => {
  const client = createRebidClient({ baseUrl: service.url, headers: buyer.session });
  const { task } = await client.tasks.create.mutate(taskInput());
  const [read, wallet] = await Promise.all([client.tasks.read.query({ id: task.id }), client.wallet.read.query()]);
  expect(read.task).toEqual(task);
  expect(wallet.heldCents).toBe(task.maxBudgetCents);
});

test("a change whose answer is lost is repeated with its key, and made once", async () => {
  const keys: (string | null)[] = [];
  const losing: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    keys.push(new Headers(init?.headers).get("idempotency-key"));
    if (keys.length === 1) {
      await response.arrayBuffer();
      throw new TypeError("the connection broke");
    }
    return response;
  };
  const before = await heldCents();
  const client = createRebidClient({ baseUrl: service.url, headers: buyer.session, fetch: losing });
  const { task } = await client.tasks.create.mutate(taskInput());
  expect(keys).toHaveLength(2);
  expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
  expect(keys[1]).toBe(keys[0]);
  expect(await heldCents()).toBe(before + task.maxBudgetCents);
});
