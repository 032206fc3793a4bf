/** A request for a page, and how to answer it. */
interface Asker<Answer> {
  /** Whose turns it takes. */
  readonly caller: string;
  /** Runs `work` when the caller has a turn, or rejects; see `Context.takeTurn`. */
  readonly takeTurn: (work: () => Promise<void>) => Promise<void>;
  /** Makes the answer, which is the same whoever asks. */
  readonly make: () => Promise<Answer>;
}

/** One answer, for all the requests that arrived before it began. */
interface Round<Answer> {
  readonly answer: Promise<Answer>;
  readonly settle: (answer: Promise<Answer>) => void;
  hasBegun: boolean;
  /** By caller, those that can begin it if the one that waits for the caller's turn cannot. */
  readonly substitutes: Map<string, Asker<Answer>[]>;
}

interface Page<Answer> {
  /** Settles when the answer that is being made is there. */
  current: Promise<unknown> | null;
  /** For the requests that arrive meanwhile. */
  next: Round<Answer> | null;
}

/**
 * Answers that do not depend on the caller. Requests for the same page that arrive while one is being answered share the
 * next answer, which begins after they came: it is no staler than one of their own, and what a page costs does not grow with
 * its readers.
 *
 * An answer is made in a turn of one of its callers, whichever has one first: nobody gets more turns than alone, or waits
 * behind the other requests of somebody else.
 */
export class SharedAnswers<Answer> {
  readonly #pages = new Map<string, Page<Answer>>();

  /** Rejects if the answer could not be made, or if no request had a turn for it. */
  get(key: string, asker: Asker<Answer>): Promise<Answer> {
    const page: Page<Answer> = this.#pages.get(key) ?? { current: null, next: null };
    this.#pages.set(key, page);
    page.next ??= openRound();
    const round = page.next;
    const substitutes = round.substitutes.get(asker.caller);
    if (substitutes !== undefined) substitutes.push(asker);
    else if (!round.hasBegun) {
      round.substitutes.set(asker.caller, []);
      void this.#await(key, page, round, asker);
    }
    return round.answer;
  }

  async #await(key: string, page: Page<Answer>, round: Round<Answer>, asker: Asker<Answer>): Promise<void> {
    try {
      await asker.takeTurn(async () => {
        if (!round.hasBegun) await this.#run(key, page, round, asker);
      });
    } catch (refusal) {
      if (round.hasBegun) return;
      // Too many of the caller's requests wait, or this one's client has left.
      const substitute = round.substitutes.get(asker.caller)?.shift();
      if (substitute !== undefined) return this.#await(key, page, round, substitute);
      round.substitutes.delete(asker.caller);
      if (round.substitutes.size > 0) return;
      page.next = null;
      this.#forget(key, page);
      round.settle(Promise.reject(refusal));
    }
  }

  async #run(key: string, page: Page<Answer>, round: Round<Answer>, { make }: Asker<Answer>): Promise<void> {
    round.hasBegun = true;
    await page.current;
    page.next = null;
    round.settle(make());
    page.current = round.answer.catch(() => {});
    await page.current;
    page.current = null;
    this.#forget(key, page);
  }

  #forget(key: string, page: Page<Answer>): void {
    if (page.current === null && page.next === null && this.#pages.get(key) === page) this.#pages.delete(key);
  }
}

function openRound<Answer>(): Round<Answer> {
  const { promise, resolve } = Promise.withResolvers<Answer>();
  return { answer: promise, settle: resolve, hasBegun: false, substitutes: new Map() };
}
