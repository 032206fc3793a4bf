import { expect, test } from "vitest";
import { FairQueue, QueueFull } from "../../server/auth/fairQueue.ts";

/** A queue whose jobs record their names when they start, and which are all held up by the first. */
function heldUp(limits: { waiting: number; waitingPerAddress: number }) {
  const queue = new FairQueue({ running: 1, ...limits });
  const started: string[] = [];
  const outcomes: Promise<string>[] = [];
  const gate = Promise.withResolvers<void>();
  const held = queue.run({ address: "gate", account: "", hasLeft: () => false }, () => gate.promise);
  return {
    add(address: string, account: string, hasLeft = false) {
      const name = `${address}/${account}`;
      const work = async () => {
        started.push(name);
        return "done";
      };
      const outcome = queue.run({ address, account, hasLeft: () => hasLeft }, work);
      outcomes.push(
        outcome.catch((error: unknown) => {
          if (error instanceof QueueFull) return "refused";
          throw error;
        }),
      );
    },
    async release() {
      gate.resolve();
      await held;
      return { outcomes: await Promise.all(outcomes), started };
    },
  };
}

test("takes turns between addresses, and between the accounts of one", async () => {
  const { add, release } = heldUp({ waiting: 10, waitingPerAddress: 10 });
  for (const account of ["x", "x", "x", "y"]) add("flood", account);
  add("home", "ada");
  add("home", "ada");
  const { started } = await release();
  expect(started).toEqual(["flood/x", "home/ada", "flood/y", "home/ada", "flood/x", "flood/x"]);
});

test("an address that has most waiting loses its newest place to others, but not to itself", async () => {
  const { add, release } = heldUp({ waiting: 4, waitingPerAddress: 4 });
  for (let n = 0; n < 4; n++) add("flood", "x");
  add("flood", "x");
  add("home", "ada");
  add("work", "bo");
  add("flood", "x");
  const { outcomes, started } = await release();
  expect(outcomes).toEqual(["done", "done", "refused", "refused", "refused", "done", "done", "refused"]);
  expect(started).toEqual(["flood/x", "home/ada", "work/bo", "flood/x"]);
});

test("guesses against one account leave room for the other accounts of their address", async () => {
  const { add, release } = heldUp({ waiting: 10, waitingPerAddress: 3 });
  for (let n = 0; n < 4; n++) add("office", "victim");
  add("office", "ada");
  add("home", "bo");
  const { outcomes } = await release();
  expect(outcomes).toEqual(["done", "done", "refused", "refused", "done", "done"]);
});

test("skips work that nobody waits for, and goes on after work that fails", async () => {
  const { add, release } = heldUp({ waiting: 10, waitingPerAddress: 10 });
  add("home", "left", true);
  add("home", "ada");
  const { outcomes, started } = await release();
  expect(outcomes).toEqual(["refused", "done"]);
  expect(started).toEqual(["home/ada"]);

  const queue = new FairQueue({ running: 1, waiting: 1, waitingPerAddress: 1 });
  const origin = { address: "home", account: "ada", hasLeft: () => false };
  const failing = queue.run(origin, () => Promise.reject(new Error("out of memory")));
  const next = queue.run(origin, async () => "done");
  await expect(failing).rejects.toThrow("out of memory");
  expect(await next).toBe("done");
});
