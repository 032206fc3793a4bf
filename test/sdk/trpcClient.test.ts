import { createRebidClient, errorBodyOf } from "@rebid/sdk/trpc";
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

test("a call can bring its own key", async () => {
  const client = createRebidClient({ baseUrl: service.url, headers: buyer.session });
  const input = taskInput();
  const context = { idempotencyKey: crypto.randomUUID() };
  const first = await client.tasks.create.mutate(input, { context });
  expect(await client.tasks.create.mutate(input, { context })).toEqual(first);
});

test("the direction that an infinite query of TanStack Query adds to its input is not sent", async () => {
  const client = createRebidClient({ baseUrl: service.url, headers: buyer.session });
  const input = { limit: 1, direction: "forward" };
  expect(await client.tasks.list.query(input)).toEqual(await client.tasks.list.query({ limit: 1 }));
});

test("queries that are made together are one request, and changes one each", async () => {
  const paths: string[] = [];
  const counting: typeof fetch = (input, init) => {
    paths.push(new URL(String(input)).pathname);
    return fetch(input, init);
  };
  const client = createRebidClient({ baseUrl: service.url, headers: buyer.session, fetch: counting });
  await Promise.all([client.wallet.read.query(), client.auth.me.query(), client.tasks.list.query({})]);
  expect(paths).toEqual(["/trpc/wallet.read,auth.me,tasks.list"]);
  await Promise.all([client.tasks.create.mutate(taskInput()), client.tasks.create.mutate(taskInput())]);
  expect(paths.slice(1)).toEqual(["/trpc/tasks.create", "/trpc/tasks.create"]);
});

test("a refusal has the service's error, and is not repeated", async () => {
  let requests = 0;
  const counting: typeof fetch = (input, init) => {
    requests++;
    return fetch(input, init);
  };
  const client = createRebidClient({ baseUrl: service.url, headers: buyer.session, fetch: counting });
  const error = await client.tasks.create.mutate(taskInput({ maxBudgetCents: 9_000_000 })).catch((caught) => caught);
  expect(errorBodyOf(error)).toMatchObject({ error: "insufficient_funds", neededCents: 9_000_000 });
  expect(requests).toBe(1);
  expect(errorBodyOf(new Error("no answer"))).toBeUndefined();
});

test("a call that is given up is not repeated", async () => {
  let requests = 0;
  const hanging: typeof fetch = (_input, init) => {
    requests++;
    return new Promise((_, reject) => init?.signal?.addEventListener("abort", () => reject(init.signal?.reason)));
  };
  const client = createRebidClient({ baseUrl: service.url, headers: buyer.session, fetch: hanging });
  const controller = new AbortController();
  const call = client.tasks.create.mutate(taskInput(), { signal: controller.signal }).catch((caught) => caught);
  await expect.poll(() => requests).toBe(1);
  controller.abort();
  expect(await call).toBeInstanceOf(Error);
  expect(requests).toBe(1);
});
