import { expect, onTestFinished, test, vi } from "vitest";
import { ApiError } from "../server/errors.ts";
import { Turns } from "../server/turns.ts";

/** Turns of which the first holds up all others, whose work records its name when it starts. */
function heldUp(limits: { waiting: number; waitingPerKey: number }) {
  const turns = new Turns({ running: 1, ...limits });
  const started: string[] = [];
  const outcomes: Promise<string>[] = [];
  const gate = Promise.withResolvers<void>();
  const held = turns.run({ key: "gate" }, () => gate.promise);
  return {
    add(key: string, part: string, signal?: AbortSignal) {
      const work = async () => {
        started.push(`${key}/${part}`);
        return "done";
      };
      const outcome = turns.run({ key, part, signal }, work);
      outcomes.push(outcome.catch((error: unknown) => (error instanceof ApiError ? "refused" : String(error))));
    },
    async release() {
      gate.resolve();
      await held;
      return { outcomes: await Promise.all(outcomes), started };
    },
  };
}

test("turns alternate between keys, and between the parts of one", async () => {
  const { add, release } = heldUp({ waiting: 10, waitingPerKey: 10 });
  for (const part of ["x", "x", "x", "y"]) add("flood", part);
  add("home", "ada");
  add("home", "ada");
  const { started } = await release();
  expect(started).toEqual(["flood/x", "home/ada", "flood/y", "home/ada", "flood/x", "flood/x"]);
});

test("a key that has most waiting loses its newest place to others, but not to itself", async () => {
  const { add, release } = heldUp({ waiting: 4, waitingPerKey: 4 });
  for (let n = 0; n < 4; n++) add("flood", "x");
  add("flood", "x");
  add("home", "ada");
  add("work", "bo");
  add("flood", "x");
  const { outcomes, started } = await release();
  expect(outcomes).toEqual(["done", "done", "refused", "refused", "refused", "done", "done", "refused"]);
  expect(started).toEqual(["flood/x", "home/ada", "work/bo", "flood/x"]);
});

test("a flood of one part leaves room for the other parts of its key", async () => {
  const { add, release } = heldUp({ waiting: 10, waitingPerKey: 3 });
  for (let n = 0; n < 4; n++) add("office", "victim");
  add("office", "ada");
  add("home", "bo");
  const { outcomes } = await release();
  expect(outcomes).toEqual(["done", "done", "refused", "refused", "done", "done"]);
});

test("an aborted signal ends the wait with its reason, and the others go on", async () => {
  const { add, release } = heldUp({ waiting: 10, waitingPerKey: 10 });
  const leaving = new AbortController();
  add("home", "left", leaving.signal);
  add("home", "ada");
  leaving.abort("has left");
  add("home", "late", leaving.signal);
  const { outcomes, started } = await release();
  expect(outcomes).toEqual(["has left", "done", "has left"]);
  expect(started).toEqual(["home/ada"]);
});

test("work that fails gives its turn back", async () => {
  const turns = new Turns({ running: 1, waiting: 1 });
  const failing = turns.run({ key: "home" }, () => Promise.reject(new Error("out of memory")));
  const next = turns.run({ key: "home" }, async () => "done");
  await expect(failing).rejects.toThrow("out of memory");
  expect(await next).toBe("done");
});

test("each key has a few turns within those of all, and one that is given back twice counts once", async () => {
  const turns = new Turns({ running: 3 });
  const ask = (key: string) => turns.acquire({ key, perKey: 2 });
  const [first, second] = [await ask("ada"), await ask("ada")];
  const third = ask("ada");
  const other = await ask("bo");
  const late = ask("cy");
  expect(turns.waiting).toBe(2);
  first();
  first();
  const release = await Promise.race([third, late]);
  expect(turns.waiting).toBe(1);
  release();
  second();
  other();
  await Promise.all([third, late]);
  expect(turns.waiting).toBe(0);
});

test("a wait that is too long is refused, and one with a delay waits at least that long, in a place that counts", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const turns = new Turns({ waitMs: 1_000, waitingPerKey: 1 });
  const release = await turns.acquire({ key: "ada", perKey: 1 });
  const late = expect(turns.acquire({ key: "ada", perKey: 1 })).rejects.toThrow(ApiError);
  await vi.advanceTimersByTimeAsync(1_000);
  await late;
  release();
  const delayed = turns.acquire({ key: "ada", perKey: 1, delayMs: 30 });
  await vi.advanceTimersByTimeAsync(29);
  expect([turns.waiting, turns.hasRoom("ada"), turns.hasRoom("bo")]).toEqual([1, false, true]);
  await vi.advanceTimersByTimeAsync(1);
  expect(turns.waiting).toBe(0);
  (await delayed)();
});
