import { describe, expect, test, vi } from "vitest";
import { SharedAnswers } from "../../server/http/sharedAnswers.ts";
import { createPerson } from "../factories/people.ts";
import { postTask } from "../factories/tasks.ts";
import { rest } from "../setup/client.ts";
import { useService } from "../setup/testService.ts";

/** Answers 1, 2, 3 …, each of which is made when the test says so. */
function numberedAnswers() {
  const answers = new SharedAnswers<number>();
  const begun: PromiseWithResolvers<void>[] = [];
  const make = async () => {
    const step = Promise.withResolvers<void>();
    const number = begun.push(step);
    await step.promise;
    return number;
  };
  return {
    begun,
    ask: (caller = "ada", takeTurn = (work: () => Promise<void>) => work()) =>
      answers.get("page", { caller, takeTurn, make }),
    begins: (count: number) => expect.poll(() => begun.length).toBe(count),
  };
}
const neverATurn = () => new Promise<void>(() => {});

describe("an answer", () => {
  test("that has begun is not for those who come later: they share the next one", async () => {
    const { ask, begun, begins } = numberedAnswers();
    const first = ask();
    await begins(1);
    const later = [ask(), ask("bo"), ask()];
    begun[0]?.resolve();
    expect(await first).toBe(1);
    await begins(2);
    begun[1]?.resolve();
    expect(await Promise.all(later)).toEqual([2, 2, 2]);
    const alone = ask();
    await begins(3);
    begun[2]?.resolve();
    expect(await alone).toBe(3);
  });

  test("begins in the turn of whoever has one first: nobody waits behind another's requests", async () => {
    const { ask, begun, begins } = numberedAnswers();
    const blocked = ask("ada", neverATurn);
    const other = ask("bo");
    await begins(1);
    begun[0]?.resolve();
    expect(await Promise.all([blocked, other])).toEqual([1, 1]);
  });

  test("does not depend on the request that waited for the turn: the caller's next one takes its place", async () => {
    const { ask, begun, begins } = numberedAnswers();
    const left = Promise.withResolvers<void>();
    const gone = ask("ada", () => left.promise);
    const patient = ask();
    left.reject(new Error("the client has left"));
    await begins(1);
    begun[0]?.resolve();
    expect(await Promise.all([gone, patient])).toEqual([1, 1]);
  });

  test("is refused if none of its requests has a turn, and made for those who come after that", async () => {
    const { ask, begun, begins } = numberedAnswers();
    const refuse = () => Promise.reject(new Error("too many"));
    await expect(Promise.all([ask("ada", refuse), ask("ada", refuse), ask("bo", refuse)])).rejects.toThrow("too many");
    const next = ask();
    await begins(1);
    begun[0]?.resolve();
    expect(await next).toBe(1);
  });

  test("that fails, fails for those who share it, and the next is made", async () => {
    const { ask, begun, begins } = numberedAnswers();
    const failing = [ask(), ask("bo")];
    await begins(1);
    const next = ask();
    begun[0]?.reject(new Error("no database"));
    expect((await Promise.allSettled(failing)).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    await begins(2);
    begun[1]?.resolve();
    expect(await next).toBe(2);
  });
});

describe("over HTTP", () => {
  const service = useService({ limiter: { limits: { reads: 1_000 }, windowSeconds: 3_600 } });

  test("parallel readers of the feed cost two statements, see what was posted before, and are counted one by one", async () => {
    const READERS = 120;
    const buyer = await createPerson(service, { cents: 100_000 });
    const { title } = await postTask(buyer, { title: "Seen by everyone at once" });
    const read = () => rest(service.url, "GET", "/tasks?limit=10", { credentials: buyer.key });
    const remaining = async () => Number(/r=(\d+)/.exec((await read()).headers.get("ratelimit") ?? "")?.[1]);
    const before = await remaining();
    const { database } = service.services;
    const send = database.query;
    const gate = Promise.withResolvers<void>();
    let searches = 0;
    vi.spyOn(database, "query").mockImplementation(async (...statement) => {
      if (statement[0].text.includes("FROM tasks t")) {
        searches++;
        await gate.promise;
      }
      return send(...statement);
    });
    const asked = vi.spyOn(SharedAnswers.prototype, "get");
    // While the first answer waits, the others arrive.
    const reading = Promise.allSettled(Array.from({ length: READERS }, read));
    try {
      await expect.poll(() => asked.mock.calls.length).toBe(READERS);
    } finally {
      gate.resolve();
    }
    for (const reader of await reading) {
      expect(reader).toMatchObject({ status: "fulfilled", value: { status: 200, body: { tasks: [{ title }] } } });
    }
    vi.restoreAllMocks();
    expect(searches).toBe(2);
    expect(await remaining()).toBe(before - READERS - 1);
  });
});
