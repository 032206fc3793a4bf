import type { Transaction } from "../store/database.ts";
import { deleteExpiredKey, keepAnswer } from "./keptAnswers.ts";
import { type Key, KeyTaken } from "./key.ts";

/** Before a change whose key was taken, and is free again, is tried once more. */
const PAUSE_MS = 20;

export type Work<Result> = (tx: Transaction) => Promise<Result>;

/** Changes something, or returns what an earlier request with the key has returned: one transaction does both. */
export async function changeOnce<Result>(key: Key, work: Work<Result>): Promise<Result> {
  const { database, operation, pause } = key.request;
  for (;;) {
    try {
      return await database.transaction(async (tx) => {
        const result = await work(tx);
        if (!(await keepAnswer(tx, await key.identify(), key.keptOf(result)))) throw new KeyTaken();
        return result;
      });
    } catch (error) {
      // The first request has the key, or what it has done is why this one is refused.
      const known = await key.find<Result>();
      const answer = key.answerOf(known);
      if (answer !== null) return answer.result;
      if (!(error instanceof KeyTaken)) throw error;
      if (known !== null) throw new Error(`${operation} has claimed its key: it must end in the claim's change`);
      await deleteExpiredKey(database, await key.identify());
      await pause(PAUSE_MS);
    }
  }
}
